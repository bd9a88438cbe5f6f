package resources

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// withCredentials has a Website fetch a private repository.
func withCredentials(repository string, submodules v1beta1.SubmodulePolicy, scope v1beta1.CredentialScope) func(*v1beta1.Website) {
	return func(site *v1beta1.Website) {
		site.Spec.Source = v1beta1.WebsiteSource{Git: &v1beta1.GitSource{
			Repository: repository, Submodules: submodules,
			SecretRef: &v1beta1.SecretReference{Name: "credentials"}, CredentialScope: scope,
		}}
	}
}

// gitEnvironment is what the container of a source has git read.
func gitEnvironment(source *v1beta1.GitSource) []string {
	var environment []string
	for _, variable := range gitVariables(source) {
		environment = append(environment, *variable.Name+"="+*variable.Value)
	}
	return environment
}

// TestCredentialScope has git keep a password as git-sync does, which hands it to
// "git credential approve" and git's cache, and asks for it again.
func TestCredentialScope(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on PATH: install the package git")
	}
	const (
		own       = "https://git.example.com/team/site.git"
		other     = "https://git.example.com/team/other.git"
		ownOnHTTP = "http://git.example.com/team/site.git"
		elsewhere = "https://evil.example.com/team/site.git"
	)
	const off, shallow, recursive = v1beta1.SubmodulesNone, v1beta1.SubmodulesShallow, v1beta1.SubmodulesRecursive
	tests := map[string]struct {
		submodules v1beta1.SubmodulePolicy
		scope      v1beta1.CredentialScope
		want       []string
	}{
		"recursive submodules":           {submodules: recursive, scope: v1beta1.CredentialScopeRepository, want: []string{own}},
		"shallow submodules":             {submodules: shallow, scope: v1beta1.CredentialScopeRepository, want: []string{own}},
		"submodules, no scope said":      {submodules: recursive, want: []string{own}},
		"submodules of the host":         {submodules: recursive, scope: v1beta1.CredentialScopeHost, want: []string{own, other}},
		"no submodules, maybe redirects": {submodules: off, scope: v1beta1.CredentialScopeRepository, want: []string{own, other}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			site := newWebsite(withCredentials(own, test.submodules, test.scope))
			home := t.TempDir()
			run := func(input string, args ...string) (string, error) {
				command := exec.CommandContext(t.Context(), git, append([]string{"-c", "credential.helper=cache --timeout 3600"}, args...)...)
				command.Dir, command.Env = home, append(gitEnvironment(site.Spec.Source.Git), "HOME="+home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
				command.Stdin = strings.NewReader(input)
				output, err := command.Output()
				return string(output), err
			}
			t.Cleanup(func() {
				_ = exec.Command(git, "credential-cache", "--socket="+home+"/.cache/git/credential/socket", "exit").Run()
			})
			if output, err := run("url="+own+"\nusername=me\npassword=secret\n", "credential", "approve"); err != nil {
				t.Fatalf("git credential approve: %v, %s", err, output)
			}
			var got []string
			for _, url := range []string{own, other, ownOnHTTP, elsewhere} {
				// It fails where it would have to ask.
				if output, err := run("url="+url+"\n", "credential", "fill"); err == nil && strings.Contains(output, "password=secret\n") {
					got = append(got, url)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the password is sent to %q, want %q", got, test.want)
			}
		})
	}
}
