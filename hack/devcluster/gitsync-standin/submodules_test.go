package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// recorder notes the repositories that requests with credentials are for.
type recorder struct {
	http.Handler
	mutex sync.Mutex
	sent  []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Header.Get("Authorization") != "" {
		repository, _, _ := strings.Cut(request.URL.Path, ".git/")
		r.mutex.Lock()
		if !slices.Contains(r.sent, repository) {
			r.sent = append(r.sent, repository)
		}
		r.mutex.Unlock()
	}
	r.Handler.ServeHTTP(w, request)
}

// recorded starts a server of the repositories of a directory.
func recorded(t *testing.T, dir, credentials string) (*recorder, string) {
	t.Helper()
	handler, err := gitserver.NewHandler(gitserver.Options{Dir: dir, CredentialsFile: credentials})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Handler: handler}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server.URL
}

// inContainer gives this process, and so git, the variables that the controller gives the
// container of a Website.
func inContainer(t *testing.T, source v1beta1.WebsiteSource) {
	t.Helper()
	deployment, err := resources.Deployment(&v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default"},
		Spec: v1beta1.WebsiteSpec{
			Source: source, Polling: v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic},
		},
	}, resources.Installation{}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, container := range deployment.Spec.Template.Spec.InitContainers {
		for _, variable := range container.Env {
			if variable.Value != nil {
				t.Setenv(*variable.Name, *variable.Value)
			}
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// TestSubmodulesGetCredentials publishes a repository whose submodules are private as well:
// one on the same host, which needs the same password, and one on another host, which would
// like to see it.
func TestSubmodulesGetCredentials(t *testing.T) {
	const own, other = "/private/site", "/private/other"
	tests := map[string]struct {
		scope     v1beta1.CredentialScope
		submodule string
		want      []string
		published bool
	}{
		"public submodule":           {scope: v1beta1.CredentialScopeRepository, submodule: "same/public", want: []string{own}, published: true},
		"of the repository":          {scope: v1beta1.CredentialScopeRepository, submodule: "same" + other, want: []string{own}},
		"of the host":                {scope: v1beta1.CredentialScopeHost, submodule: "same" + other, want: []string{own, other}, published: true},
		"of the host, on another":    {scope: v1beta1.CredentialScopeHost, submodule: "another" + other, want: []string{own}},
		"of the host, same path":     {scope: v1beta1.CredentialScopeHost, submodule: "another" + own, want: []string{own}},
		"of the repository, through": {scope: v1beta1.CredentialScopeRepository, submodule: "same" + own + ".git/../other", want: []string{own}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir, credentials := t.TempDir(), writeFile(t, "reader:secret\n")
			same, url := recorded(t, dir, credentials)
			another, anotherURL := recorded(t, dir, credentials)
			for _, repository := range []string{"private/site", "private/other", "public"} {
				if _, err := gitserver.Create(t.Context(), dir, repository); err != nil {
					t.Fatal(err)
				}
			}
			module := newRemote(t)
			pinned := module.commit("module")
			for _, repository := range []string{"private/other", "public"} {
				module.git("push", "--quiet", gitserver.Path(dir, repository), "main")
			}
			site := newRemote(t)
			site.commit("one")
			address := strings.NewReplacer("another/", anotherURL+"/", "same/", url+"/").Replace(test.submodule) + ".git"
			site.git("config", "--file=.gitmodules", "submodule.module.path", "module")
			site.git("config", "--file=.gitmodules", "submodule.module.url", address)
			site.git("add", ".gitmodules")
			site.git("update-index", "--add", "--cacheinfo", "160000,"+pinned+",module")
			site.git("commit", "--quiet", "-m", "Add a submodule")
			site.git("push", "--quiet", gitserver.Path(dir, "private/site"), "main")

			source := v1beta1.WebsiteSource{Git: &v1beta1.GitSource{
				Repository: url + own + ".git", Submodules: v1beta1.SubmodulesRecursive,
				SecretRef: &v1beta1.SecretReference{Name: "credentials"}, CredentialScope: test.scope,
			}}
			inContainer(t, source)
			o, err := parse([]string{
				"--repo=" + source.Git.Repository, "--root=" + filepath.Join(t.TempDir(), "root"), "--link=current", "--submodules=recursive",
				"--username=reader", "--password-file=" + writeFile(t, "secret"),
			}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			s := syncerOf(o, io.Discard)
			if _, err := s.sync(t.Context()); (err == nil) != test.published {
				t.Errorf("sync: %v, want it published: %t", err, test.published)
			}
			if !slices.Equal(same.sent, test.want) {
				t.Errorf("the password was sent to %q, want %q", same.sent, test.want)
			}
			if len(another.sent) > 0 {
				t.Errorf("the password was sent to %q of another host", another.sent)
			}
		})
	}
}
