package resources

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources/resourcestest"
)

const gitSyncFlagsFile = "testdata/git-sync-v4.7.1-flags.txt"

// gitSyncFlags returns a flag set that takes what git-sync takes.
func gitSyncFlags(t *testing.T) *pflag.FlagSet {
	t.Helper()
	file, err := os.Open(gitSyncFlagsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	flags := pflag.NewFlagSet("git-sync", pflag.ContinueOnError)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) != 2 {
			t.Fatalf("%s: %q is not a name and a kind", gitSyncFlagsFile, lines.Text())
		}
		switch name, kind := fields[0], fields[1]; kind {
		case "bool":
			flags.Bool(name, false, "")
		case "int":
			flags.Int(name, 0, "")
		case "duration":
			flags.Duration(name, 0, "")
		case "string", "credentials":
			flags.String(name, "", "")
		case "stringArray":
			flags.StringArray(name, nil, "")
		default:
			t.Fatalf("%s: --%s has the unknown kind %q", gitSyncFlagsFile, name, kind)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return flags
}

// TestGitSyncTakesItsFlags: git-sync ends at once when it is given a flag that
// it does not know, or a value of another kind.
func TestGitSyncTakesItsFlags(t *testing.T) {
	used := sets.New[string]()
	for name, tweak := range resourcestest.Sources() {
		t.Run(name, func(t *testing.T) {
			_, container := mustContainer(t, GitSyncContainer, tweak)
			flags := gitSyncFlags(t)
			args := resourcestest.GitSyncArgs(container.Args)
			if err := flags.Parse(args); err != nil {
				t.Errorf("git-sync would not start: %v\narguments: %q", err, args)
			}
			if flags.NArg() != 0 {
				t.Errorf("not flags: %q", flags.Args())
			}
			for _, arg := range args {
				flag, _, hasValue := strings.Cut(arg, "=")
				if !hasValue || !strings.HasPrefix(flag, "--") {
					t.Errorf("%q is not of the form --flag=value", arg)
				}
				used.Insert(flag)
			}
		})
	}
	// A new flag has to be used by one of these Websites.
	want := []string{
		"--error-file", "--http-bind", "--http-metrics", "--init-period", "--link", "--max-failures", "--password-file", "--period", "--ref", "--repo", "--root",
		"--ssh-key-file", "--ssh-known-hosts", "--ssh-known-hosts-file", "--submodules", "--sync-on-signal", "--sync-timeout",
	}
	if got := sets.List(used); !slices.Equal(got, want) {
		t.Errorf("flags = %q, want %q", got, want)
	}
}

// TestGitEnvironment is what git, and not git-sync, reads.
func TestGitEnvironment(t *testing.T) {
	for name, tweak := range resourcestest.Sources() {
		t.Run(name, func(t *testing.T) {
			_, container := mustContainer(t, GitSyncContainer, tweak)
			got := map[string]string{}
			for _, variable := range container.Env {
				if variable.Value != nil {
					got[*variable.Name] = *variable.Value
				}
				if strings.HasPrefix(*variable.Name, "GITSYNC_") || strings.HasPrefix(*variable.Name, "GIT_SYNC_") {
					t.Errorf("%s would change what the flags say", *variable.Name)
				}
			}
			for variable, want := range map[string]string{
				"GIT_ALLOW_PROTOCOL": "http:https:ssh",
				"GIT_CONFIG_KEY_0":   "core.bigFileThreshold",
				"GIT_CONFIG_VALUE_0": "16m",
			} {
				if got[variable] != want {
					t.Errorf("%s = %q, want %q", variable, got[variable], want)
				}
			}
		})
	}
}

// TestGitReadsItsSettings asks git itself, which would silently read none of
// them if one were missing from the count.
func TestGitReadsItsSettings(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on PATH: install the package git")
	}
	var environment []string
	for _, policy := range []v1beta1.SubmodulePolicy{v1beta1.SubmodulesNone, v1beta1.SubmodulesShallow} {
		source := newWebsite(withCredentials("https://example.com/site.git", policy, v1beta1.CredentialScopeRepository)).Spec.Source.Git
		environment = gitEnvironment(source)
		for _, setting := range gitSettings(source) {
			command := exec.CommandContext(t.Context(), git, "config", "--get", setting.key)
			command.Dir, command.Env = t.TempDir(), environment
			if output, err := command.Output(); err != nil || strings.TrimSpace(string(output)) != setting.value {
				t.Errorf("git reads %s as %q, %v, want %q", setting.key, output, err, setting.value)
			}
		}
	}
	command := exec.CommandContext(t.Context(), git, "ls-remote", "file:///nowhere")
	command.Dir, command.Env = t.TempDir(), environment
	if output, err := command.CombinedOutput(); err == nil || !strings.Contains(string(output), "not allowed") {
		t.Errorf("git reads repositories of the container's own files: %v, %q", err, output)
	}
}
