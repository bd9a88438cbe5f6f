// Package resourcestest has what tests of the children of Websites share with tests
// of the programs that run in them.
package resourcestest

import (
	"slices"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Sources are changes to a Website, by what they stand for, that between them have
// git-sync take every flag that is ever passed to it.
func Sources() map[string]func(*v1beta1.Website) {
	secret := &v1beta1.SecretReference{Name: "credentials"}
	return map[string]func(*v1beta1.Website){
		"nothing said": func(*v1beta1.Website) {},
		"branch":       func(website *v1beta1.Website) { website.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "main"} },
		"tag":          func(website *v1beta1.Website) { website.Spec.Source.Git.Ref = &v1beta1.GitReference{Tag: "v1"} },
		"commit": func(website *v1beta1.Website) {
			website.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: strings.Repeat("0123456789", 4)}
		},
		"submodules":   func(website *v1beta1.Website) { website.Spec.Source.Git.Submodules = v1beta1.SubmodulesRecursive },
		"shallow ones": func(website *v1beta1.Website) { website.Spec.Source.Git.Submodules = v1beta1.SubmodulesShallow },
		"rare looks": func(website *v1beta1.Website) {
			website.Spec.Polling = v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 86400, TimeoutSeconds: 3600}
		},
		"password": func(website *v1beta1.Website) { website.Spec.Source.Git.SecretRef = secret },
		"key": func(website *v1beta1.Website) {
			website.Spec.Source.Git.Repository, website.Spec.Source.Git.SecretRef = "git@example.com:site.git", secret
		},
	}
}

// GitSyncArgs returns the arguments of git-sync among those of the container git-sync, which
// begin with those of the agent.
func GitSyncArgs(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 && len(args) > i+2 {
		return args[i+2:]
	}
	return nil
}
