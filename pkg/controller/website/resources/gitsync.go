package resources

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// gitSyncMetricsPort is where git-sync counts its fetches for Prometheus.
const gitSyncMetricsPort = 8082

// gitSyncArgs is the command line of git-sync for a Website, without that of its
// credentials.
func gitSyncArgs(site *v1beta1.Website) ([]string, error) {
	repository, ref := site.Spec.Source.Repository, gitRef(site.Spec.Source.Ref)
	if err := checkGitArgument("spec.source.repository", repository); err != nil {
		return nil, err
	}
	if err := checkGitArgument("spec.source.ref", ref); err != nil {
		return nil, err
	}
	submodules, err := submodulesArg(site.Spec.Source.Submodules)
	if err != nil {
		return nil, err
	}
	return []string{
		"--repo=" + repository,
		RefFlag + ref,
		"--root=" + gitRoot,
		"--link=" + gitLink,
		fmt.Sprintf("--period=%ds", site.Spec.Sync.PeriodSeconds),
		fmt.Sprintf("--sync-timeout=%ds", site.Spec.Sync.TimeoutSeconds),
		// By default one failed fetch ends the process; a remote that is away
		// must not take a running site with it.
		"--max-failures=-1",
		// Requests in flight go on reading the previous worktree.
		"--stale-worktree-timeout=10m",
		submodules,
		fmt.Sprintf("--http-bind=:%d", gitSyncMetricsPort),
		"--http-metrics=true",
	}, nil
}

// gitRef names what is published in full: a short name is ambiguous, since a
// tag called main would win over the branch. Without a reference it is
// whatever the remote's HEAD names.
func gitRef(ref *v1beta1.GitReference) string {
	switch {
	case ref == nil:
		return "HEAD"
	case ref.Branch != "":
		return "refs/heads/" + ref.Branch
	case ref.Tag != "":
		return "refs/tags/" + ref.Tag
	case ref.Commit != "":
		return ref.Commit
	case ref.Name != "":
		return ref.Name
	default:
		return "HEAD"
	}
}

func submodulesArg(policy v1beta1.SubmodulePolicy) (string, error) {
	switch policy {
	case v1beta1.SubmodulesOff:
		return "--submodules=off", nil
	case v1beta1.SubmodulesShallow:
		return "--submodules=shallow", nil
	case v1beta1.SubmodulesRecursive:
		return "--submodules=recursive", nil
	default:
		return "", fmt.Errorf("spec.source.submodules %q is not known to this version of the controller: update it", policy)
	}
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

// gitSetting is a setting of git's configuration.
type gitSetting struct{ key, value string }

// memorySettings keep git within the memory of its container: by default it
// holds files of up to 512 MiB whole, and as many deltas as there are
// processors.
var memorySettings = []gitSetting{
	{"core.bigFileThreshold", "16m"},
	{"pack.threads", "1"},
	{"pack.windowMemory", "32m"},
}

// gitSettings are git's settings for a Website.
func gitSettings(source *v1beta1.WebsiteSource) []gitSetting {
	return append(slices.Clone(memorySettings), credentialSettings(source)...)
}

// gitVariables is the environment of git, which git-sync has no flags for.
func gitVariables(source *v1beta1.WebsiteSource) []*corev1ac.EnvVarApplyConfiguration {
	variable := func(name, value string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValue(unexpanded(value))
	}
	settings := gitSettings(source)
	variables := []*corev1ac.EnvVarApplyConfiguration{
		// git itself would also take file:// and helper programs.
		variable("GIT_ALLOW_PROTOCOL", "http:https:ssh"),
		variable("GIT_CONFIG_COUNT", strconv.Itoa(len(settings))),
	}
	for i, setting := range settings {
		variables = append(variables,
			variable(fmt.Sprintf("GIT_CONFIG_KEY_%d", i), setting.key),
			variable(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i), setting.value))
	}
	return variables
}
