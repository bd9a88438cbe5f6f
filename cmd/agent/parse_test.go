package main

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// TestTakesWhatTheControllerPasses: a flag that is refused is a pod that never starts.
func TestTakesWhatTheControllerPasses(t *testing.T) {
	https := git.Options{
		Dir: "/git/repository", URL: "https://git.example.com/site.git", Path: "docs/my site", Submodules: git.SubmodulesRecursive,
		Credentials: git.Credentials{UsernameFile: "/etc/git-credentials/username", PasswordFile: "/etc/git-credentials/password", WholeHost: true},
		CAFile:      "/etc/git-ca/ca.crt", Proxy: git.Proxy{HTTPS: "http://proxy:1", HTTP: "http://proxy:2", None: ".local"}, Timeout: 30 * time.Second,
	}
	ssh := git.Options{
		Dir: "/git/repository", URL: "ssh://git@git.example.com/site.git", Submodules: git.SubmodulesShallow,
		Credentials: git.Credentials{KeyFile: "/etc/git-credentials/ssh-privatekey", KnownHostsFile: "/etc/git-credentials/known_hosts"},
		Timeout:     30 * time.Second,
	}
	for name, test := range map[string]struct {
		source     v1beta1.WebsiteSource
		polling    v1beta1.PollingMode
		proxy      resources.Proxy
		want       git.Options
		ref        string
		period     time.Duration
		hasVisitor bool
	}{
		"https": {
			source: v1beta1.WebsiteSource{Path: https.Path, Git: &v1beta1.GitSource{
				Repository: https.URL, Submodules: v1beta1.SubmodulesRecursive, Ref: &v1beta1.GitReference{Branch: "x"},
				SecretRef: &v1beta1.SecretReference{Name: "a"}, CredentialScope: v1beta1.CredentialScopeHost,
				CARef: &v1beta1.CAReference{ConfigMapName: "ca", Key: "bundle.pem"},
			}},
			polling: v1beta1.PollingModePeriodic, proxy: resources.Proxy{HTTPS: "http://proxy:1", HTTP: "http://proxy:2", None: ".local"},
			want: https, ref: "refs/heads/x", period: 10 * time.Second, hasVisitor: true,
		},
		"ssh, never polled": {
			source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{
				Repository: ssh.URL, Submodules: v1beta1.SubmodulesShallow, SecretRef: &v1beta1.SecretReference{Name: "a"},
				CredentialScope: v1beta1.CredentialScopeRepository,
			}},
			polling: v1beta1.PollingModeNever, want: ssh, ref: "HEAD",
		},
	} {
		t.Run(name, func(t *testing.T) {
			website := &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default"}, Spec: v1beta1.WebsiteSpec{
				Source: test.source, Polling: v1beta1.WebsitePolling{Mode: test.polling, PeriodSeconds: 10, TimeoutSeconds: 30},
			}}
			if test.hasVisitor {
				website.Spec.Access.BasicAuth = &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: "users"}}
			}
			deployment, err := resources.Deployment(website, resources.Installation{Proxy: test.proxy}, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, container := range deployment.Spec.Template.Spec.InitContainers {
				if *container.Name != resources.GitSyncContainer {
					continue
				}
				o, err := parse(container.Args[1:])
				if err != nil || container.Args[0] != "run" {
					t.Fatalf("%q: %v", container.Args, err)
				}
				revision := o.Git.Revision
				o.Git.Revision = ""
				if revision == "" || !reflect.DeepEqual(o.Git, test.want) || o.Ref != test.ref || o.Period != test.period || o.ConfigDir == "" || o.store.Budget == 0 ||
					o.store.Published != test.source.Path || o.listen == "" || o.statusListen == "" || (o.Access != nil) != test.hasVisitor {
					t.Errorf("%q are taken for %+v", container.Args, o)
				}
				return
			}
			t.Error("no container runs the agent")
		})
	}
}
