package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// AgentContainer is the name of the container that copies the agent.
	AgentContainer = "agent"

	// agentProgram is the agent in the container git-sync, and agentImageProgram in its
	// own image.
	agentProgram      = agentMountPath + "/website-agent"
	agentImageProgram = "/website-agent"

	// siteDir is the directory of the volume that nginx serves from. The whole volume is
	// mounted into git-sync, since hard links do not cross mounts.
	siteDir = "site"
	// repositoryDir is the directory of the volume that git works in.
	repositoryDir = "repository"

	// agentPort is the loopback port of the agent, for nginx, and syncMetricsPort the port with its
	// metrics.
	agentPort       = 8083
	syncMetricsPort = 8082
)

// agentContainer copies the agent into the pod, where it runs in the image of git-sync. It has the
// resources of git-sync, which a LimitRange accepts if it accepts the pod. They add nothing to the
// resources of the pod, since it ends before git-sync starts.
func agentContainer(website *v1beta1.Website, installation Installation) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(AgentContainer).
		WithImage(installation.Agent).
		WithCommand(agentImageProgram).
		WithArgs("install", agentProgram, nginxTempMountPath+"/"+requestsFile).
		WithResources(requirements(website.Spec.Resources.Sync, gitSyncDefaults(website))).
		WithSecurityContext(restricted(installation, gitSyncUser)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(agentVolume).WithMountPath(agentMountPath), trafficMount())
}

// arguments are the arguments of a command. Each has the form --name=value, so that no value is
// parsed as a flag.
type arguments []string

// add appends a flag, unless its value is empty. The kubelet expands no variable in the value.
func (a *arguments) add(name, value string) {
	if value != "" {
		*a = append(*a, "--"+name+"="+unexpanded(value))
	}
}

// agentArgs is the command line of the agent of a Website with an nginx configuration.
func agentArgs(website *v1beta1.Website, added concern, nginxConfig string) ([]string, error) {
	if err := checkSource(website); err != nil {
		return nil, err
	}
	period, err := agentPeriod(website.Spec.Polling)
	if err != nil {
		return nil, err
	}
	git, args := Git(website), arguments{"run"}
	args.add("repository", git.Repository)
	args.add("ref", gitRef(git.Ref))
	args.add("path", website.Spec.Source.Path)
	args.add("submodules", string(git.Submodules))
	if serving := website.Spec.Serving; !slices.ContainsFunc(serving.Redirects, isFromRoot) {
		args.add("index", cmp.Or(serving.Index, "index.html"))
	}
	// With another configuration, nginx may send other headers for the same file, or serve it at
	// another path.
	args.add("revision", configHash(nginxConfig))
	args.add("period", seconds(period))
	args.add("timeout", seconds(website.Spec.Polling.TimeoutSeconds))
	args = append(args, added.fetchArgs...)
	args.add("root", gitMountPath+"/"+repositoryDir)
	args.add("releases", gitMountPath+"/"+siteDir)
	args.add("volume", gitMountPath)
	args.add("disk-budget", strconv.FormatInt(diskBudget(website), 10))
	args = append(args, added.args...)
	args.add("listen", fmt.Sprintf(":%d", syncMetricsPort))
	args.add("status-listen", fmt.Sprintf("127.0.0.1:%d", agentPort))
	return args, nil
}

// isFromRoot reports whether a redirect is from the root of the site, which then needs no index.
func isFromRoot(r v1beta1.Redirect) bool { return r.From == "/" || r.From == "/*" }

func seconds(n int32) string { return fmt.Sprintf("%ds", n) }

// agentPeriod is the polling interval of the agent in seconds; 0 without polling.
func agentPeriod(polling v1beta1.WebsitePolling) (int32, error) {
	switch polling.Mode {
	case v1beta1.PollingModePeriodic:
		return polling.PeriodSeconds, nil
	case v1beta1.PollingModeNever:
		return 0, nil
	default:
		return 0, fmt.Errorf("spec.polling.mode %q is unknown to this version of website-controller: update "+
			"website-controller", polling.Mode)
	}
}
