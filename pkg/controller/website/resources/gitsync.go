package resources

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

const (
	// gitRef is what is published. v1alpha1 knows only the remote's HEAD.
	gitRef = "HEAD"
	// gitSyncMetricsPort is where git-sync counts its fetches for Prometheus.
	gitSyncMetricsPort = 8082
)

// gitSyncArgs is the command line of git-sync for a Website.
func gitSyncArgs(site *v1alpha1.Website) ([]string, error) {
	if err := checkGitArgument("spec.gitRepo", site.Spec.GitRepo); err != nil {
		return nil, err
	}
	if err := checkGitArgument("the ref", gitRef); err != nil {
		return nil, err
	}
	return []string{
		"--repo=" + site.Spec.GitRepo,
		"--ref=" + gitRef,
		"--root=" + gitRoot,
		"--link=" + gitLink,
		"--period=60s",
		"--sync-timeout=120s",
		// By default one failed fetch ends the process; a remote that is away
		// must not take a running site with it.
		"--max-failures=-1",
		// Requests in flight go on reading the previous worktree.
		"--stale-worktree-timeout=10m",
		"--submodules=off",
		fmt.Sprintf("--http-bind=:%d", gitSyncMetricsPort),
		"--http-metrics=true",
	}, nil
}

// checkGitArgument refuses what git would not read as the repository or ref it
// is meant as. git-sync hands both to git as they are, and git takes a leading
// hyphen for an option, some of which run commands.
func checkGitArgument(what, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is empty: name the git repository to publish", what)
	case strings.HasPrefix(value, "-"):
		return fmt.Errorf("%s %q begins with a hyphen, which git would read as an option: remove it", what, value)
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return fmt.Errorf("%s %q contains white space or control characters: remove them", what, value)
	default:
		return nil
	}
}
