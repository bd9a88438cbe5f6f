package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// TestFlagsOfPods: the agent parses the flags in the pod template into the settings of the Website.
func TestFlagsOfPods(t *testing.T) {
	secret := &v1beta1.SecretReference{Name: "credentials"}
	for name, test := range map[string]struct {
		tweak func(*v1beta1.Website)
		is    func(o *options) bool
	}{
		"by default": {
			func(*v1beta1.Website) {},
			func(o *options) bool {
				return o.Git.URL == "https://example.com/site.git" && o.Ref == "HEAD" && o.Git.Submodules == git.SubmodulesNone &&
					o.Period.Seconds() == 60 && o.Git.Timeout.Seconds() == 120 && o.store.Budget > 0 && o.Access == nil
			},
		},
		"a path of a branch": {
			func(w *v1beta1.Website) {
				w.Spec.Source.Path, w.Spec.Source.Git.Ref = "public", &v1beta1.GitReference{Branch: "live"}
			},
			func(o *options) bool {
				return o.store.Published == "public" && o.Git.Path == "public" && o.Ref == "refs/heads/live"
			},
		},
		"not polled, with submodules": {
			func(w *v1beta1.Website) {
				w.Spec.Polling.Mode, w.Spec.Source.Git.Submodules = v1beta1.PollingModeNever, v1beta1.SubmodulesRecursive
			},
			func(o *options) bool { return o.Period == 0 && o.Git.Submodules == git.SubmodulesRecursive },
		},
		"a password for the host": {
			func(w *v1beta1.Website) {
				w.Spec.Source.Git.SecretRef, w.Spec.Source.Git.CredentialScope = secret, v1beta1.CredentialScopeHost
			},
			func(o *options) bool {
				c := o.Git.Credentials
				return c.UsernameFile != "" && c.PasswordFile != "" && c.KeyFile == "" && c.WholeHost
			},
		},
		"a key": {
			func(w *v1beta1.Website) {
				w.Spec.Source.Git.Repository, w.Spec.Source.Git.SecretRef = "git@example.com:site.git", secret
			},
			func(o *options) bool {
				c := o.Git.Credentials
				return c.KeyFile != "" && c.KnownHostsFile != "" && c.PasswordFile == "" && !c.WholeHost
			},
		},
		"a private CA, and a proxy": {
			func(w *v1beta1.Website) { w.Spec.Source.Git.CARef = &v1beta1.CAReference{ConfigMapName: "ca"} },
			func(o *options) bool {
				return o.Git.CAFile != "" && o.Git.Proxy == git.Proxy{HTTPS: "http://a:1", HTTP: "http://b:1", None: "c"}
			},
		},
		"users": {
			func(w *v1beta1.Website) { w.Spec.Access.BasicAuth = &v1beta1.BasicAuth{SecretRef: *secret} },
			func(o *options) bool { return o.Access != nil && o.access.SecretDir != "" && o.access.File != "" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			website := &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
			website.Spec.Source.Git = &v1beta1.GitSource{Repository: "https://example.com/site.git"}
			test.tweak(website)
			v1beta1.SetObjectDefaults_Website(website)
			proxy := resources.Proxy{HTTPS: "http://a:1", HTTP: "http://b:1", None: "c"}
			deployment, err := resources.Deployment(website, resources.Installation{Proxy: proxy}, "")
			if err != nil {
				t.Fatal(err)
			}
			args := deployment.Spec.Template.Spec.InitContainers[1].Args
			o, err := parse(args[1:])
			if err != nil || args[0] != "run" || !test.is(o) {
				t.Errorf("%q is read as %+v, %v", args, o, err)
			}
		})
	}
}
