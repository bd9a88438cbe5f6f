package resources

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	// gitSyncProgram is git-sync in its image.
	gitSyncProgram = "/git-sync"

	// siteDir is the directory of the volume that nginx serves from. The whole volume is
	// mounted into git-sync, since hard links do not cross mounts.
	siteDir = "site"
	// syncErrorFile is where git-sync writes why it fails.
	syncErrorFile = tempDir + "/git-sync-error.json"
	// diskSize is the limit of the volume if the Website has none. The agent removes
	// releases above 90 % of it, because the kubelet evicts a pod that exceeds it.
	diskSize = "2Gi"
	// diskShare is which part of the limit is requested: most sites need little of it, and
	// a request is what a node keeps for a pod.
	diskShare = 8

	// agentPort is the port of the agent on loopback, for nginx, and gitSyncPort that of
	// git-sync, for the agent.
	agentPort   = 8083
	gitSyncPort = 8084
)

// agentContainer copies the agent into the pod, where it runs in the image of git-sync. It has the resources of
// git-sync, which a LimitRange accepts if it accepts the pod. They add nothing to those of the pod, since it ends
// before git-sync starts.
func agentContainer(website *v1beta1.Website, installation Installation) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(AgentContainer).
		WithImage(installation.Agent).
		WithCommand(agentImageProgram).
		WithArgs("install", agentProgram).
		WithResources(requirements(website.Spec.Resources.Sync, gitSyncDefaults(website))).
		WithSecurityContext(restricted(installation, gitSyncUser)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(agentVolume).WithMountPath(agentMountPath))
}

// diskLimit is the size limit of the volume of a Website.
func diskLimit(website *v1beta1.Website) resource.Quantity {
	if limit := website.Spec.Storage.SizeLimit; limit != nil {
		return *limit
	}
	return resource.MustParse(diskSize)
}

// gitSyncDefaults are syncDefaults with a request for the disk, so that the scheduler counts
// what the volume takes.
func gitSyncDefaults(website *v1beta1.Website) corev1.ResourceRequirements {
	limit := diskLimit(website)
	defaults := corev1.ResourceRequirements{Requests: maps.Clone(syncDefaults.Requests), Limits: syncDefaults.Limits}
	defaults.Requests[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(limit.Value()/diskShare, resource.BinarySI)
	return defaults
}

// agentPeriod is the polling interval of the agent in seconds; 0 without polling.
func agentPeriod(polling v1beta1.WebsitePolling) int32 {
	if polling.Mode == v1beta1.PollingModeNever {
		return 0
	}
	return polling.PeriodSeconds
}

// agentArgs is the command line of the agent, without that of git-sync.
func agentArgs(website *v1beta1.Website) []string {
	size := diskLimit(website)
	return []string{
		"run",
		"--root=" + gitRoot,
		"--link=" + gitLink,
		"--config=" + agentConfigPath,
		"--error-file=" + syncErrorFile,
		fmt.Sprintf("--period=%ds", agentPeriod(website.Spec.Polling)),
		fmt.Sprintf("--sync-timeout=%ds", website.Spec.Polling.TimeoutSeconds),
		"--releases=" + gitMountPath + "/" + siteDir,
		"--volume=" + gitMountPath,
		fmt.Sprintf("--disk-budget=%d", size.Value()*9/10),
		"--path=" + website.Spec.Source.Path,
		fmt.Sprintf("--listen=:%d", syncMetricsPort),
		fmt.Sprintf("--status-listen=127.0.0.1:%d", agentPort),
		fmt.Sprintf("--git-sync-metrics=http://127.0.0.1:%d/metrics", gitSyncPort),
	}
}
