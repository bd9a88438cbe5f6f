package resources

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// syncMetricsPort is the port of the agent with its metrics and those of git-sync.
	syncMetricsPort = 8082
	// initPeriodSeconds is the time after which a first sync that failed is tried again.
	initPeriodSeconds = 5
	// neverSeconds is the interval of a git-sync that is not to poll, which takes no 0: 68 years.
	neverSeconds = math.MaxInt32
)

// gitSyncArgs is the command line of git-sync for a Website, without that of its
// credentials.
func gitSyncArgs(website *v1beta1.Website) ([]string, error) {
	git := website.Spec.Source.Git
	if git == nil {
		return nil, fmt.Errorf("spec.source has no git, and this version of website-controller knows no other kind of source: update website-controller")
	}
	repository, ref := git.Repository, gitRef(git.Ref)
	if err := checkGitArgument("spec.source.git.repository", repository); err != nil {
		return nil, err
	}
	if err := checkGitArgument("spec.source.git.ref", ref); err != nil {
		return nil, err
	}
	submodules, err := submodulesArg(git.Submodules)
	if err != nil {
		return nil, err
	}
	period, err := gitSyncPeriod(website.Spec.Polling)
	if err != nil {
		return nil, err
	}
	return []string{
		"--repo=" + repository,
		"--ref=" + ref,
		"--root=" + gitRoot,
		"--link=" + gitLink,
		fmt.Sprintf("--period=%ds", period),
		fmt.Sprintf("--sync-timeout=%ds", website.Spec.Polling.TimeoutSeconds),
		// By default one failed fetch ends the process; an unreachable remote
		// must not stop a pod that serves.
		"--max-failures=-1",
		fmt.Sprintf("--init-period=%ds", initPeriodSeconds),
		"--error-file=" + syncErrorFile,
		"--sync-on-signal=SIGHUP",
		submodules,
		fmt.Sprintf("--http-bind=127.0.0.1:%d", gitSyncPort),
		"--http-metrics=true",
	}, nil
}

// gitSyncPeriod is the polling interval of git-sync in seconds.
func gitSyncPeriod(polling v1beta1.WebsitePolling) (int32, error) {
	switch polling.Mode {
	case v1beta1.PollingModePeriodic:
		return polling.PeriodSeconds, nil
	case v1beta1.PollingModeNever:
		return neverSeconds, nil
	default:
		return 0, fmt.Errorf("spec.polling.mode %q is unknown to this version of website-controller: update website-controller", polling.Mode)
	}
}

// IsCommit reports whether a reference is the full hash of a commit, which can
// never mean another one.
func IsCommit(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdef") == ""
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
	case v1beta1.SubmodulesNone:
		return "--submodules=off", nil
	case v1beta1.SubmodulesShallow:
		return "--submodules=shallow", nil
	case v1beta1.SubmodulesRecursive:
		return "--submodules=recursive", nil
	default:
		return "", fmt.Errorf("spec.source.git.submodules %q is unknown to this version of website-controller: update website-controller", policy)
	}
}

// Git returns the git repository of a Website, an empty one if its source is of a kind that this version does not know.
func Git(website *v1beta1.Website) *v1beta1.GitSource {
	if git := website.Spec.Source.Git; git != nil {
		return git
	}
	return &v1beta1.GitSource{}
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
	// Each thread counts with the whole of its stack towards the limit that the agent sets.
	{"core.preloadIndex", "false"},
	{"index.threads", "1"},
}

// fetchSettings keep a fetch from being stopped by what was fetched before, and by a
// server that says nothing.
var fetchSettings = []gitSetting{
	// Otherwise every fetch reads .gitmodules of the last commit, whatever git-sync does
	// about submodules, and fails for ever because of one that git refuses.
	{"fetch.recurseSubmodules", "false"},
	// A server that makes a pack sends a few bytes every five seconds meanwhile.
	{"http.lowSpeedLimit", "1"},
	{"http.lowSpeedTime", "30"},
	// A release has links to the files of a worktree, which changes their ctime: git would write all of
	// them again at the first sync of a git-sync that is restarted.
	{"core.trustctime", "false"},
}

// sshCommand has ssh end when its server says nothing. git-sync adds the keys.
const sshCommand = "ssh -o ConnectTimeout=20 -o ServerAliveInterval=10 -o ServerAliveCountMax=3"

// gitSettings are git's settings for a Website.
func gitSettings(git *v1beta1.GitSource) []gitSetting {
	return slices.Concat(memorySettings, fetchSettings, credentialSettings(git))
}

// gitVariables is the environment of git, which git-sync has no flags for.
func gitVariables(git *v1beta1.GitSource) []*corev1ac.EnvVarApplyConfiguration {
	variable := func(name, value string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValue(unexpanded(value))
	}
	settings := gitSettings(git)
	variables := []*corev1ac.EnvVarApplyConfiguration{
		// git itself would also take file:// and helper programs.
		variable("GIT_ALLOW_PROTOCOL", "http:https:ssh"),
		variable("GIT_SSH_COMMAND", sshCommand),
		variable("GIT_CONFIG_COUNT", strconv.Itoa(len(settings))),
	}
	for i, setting := range settings {
		variables = append(variables,
			variable(fmt.Sprintf("GIT_CONFIG_KEY_%d", i), setting.key),
			variable(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i), setting.value))
	}
	return variables
}
