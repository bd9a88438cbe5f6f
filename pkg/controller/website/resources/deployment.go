package resources

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// NginxContainer is the name of the container with nginx.
	NginxContainer = "nginx"
	// GitSyncContainer is the name of the container with the agent.
	GitSyncContainer = "git-sync"

	httpPortName    = "http"
	adminPortName   = "admin"
	metricsPortName = "sync-metrics"

	gitVolume         = "git"
	nginxConfigVolume = "nginx-config"
	nginxTempVolume   = "nginx-tmp"
	gitSyncTempVolume = "git-sync-tmp"
	agentVolume       = "agent"
	agentConfigVolume = "agent-config"

	gitMountPath    = "/git"
	siteMountPath   = "/site"
	agentMountPath  = "/agent"
	agentConfigPath = "/etc/website-agent"
	nginxConfigPath = "/etc/website"

	// safeToEvict lets the cluster autoscaler remove a node with pods of Websites: their emptyDir volumes are filled
	// again from the repository.
	safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

	// nginxUser is the user of the nginx-unprivileged image.
	nginxUser = 101
	// gitSyncUser is the user of the git-sync image.
	gitSyncUser = 65533

	// startSeconds is the time that nginx may wait for a first commit before it is restarted: longer than
	// any clone, since a restart does not help.
	startSeconds = 3600
	// drainSeconds is the time for which nginx still accepts requests after its pod began to terminate: by then
	// every node has removed the endpoint.
	drainSeconds = 5
	// terminationGraceSeconds leaves the remaining time to requests in flight.
	terminationGraceSeconds = 30

	// defaultReplicas repeats the default of the API for an object that was not read from a server.
	defaultReplicas = 1
	// keptRevisions is the number of old ReplicaSets. Rollbacks are done in git, so they are kept for
	// inspection only.
	keptRevisions = 3

	// ProgressDeadlineSeconds is the default of Kubernetes. It is applied so that no other client can
	// raise it: until then, a rollout without progress blocks the rollouts of other Websites.
	ProgressDeadlineSeconds = 600
)

// Installation has the flags of the controller for all pods.
type Installation struct {
	// Nginx serves the files. It must be an nginx that runs as user 101.
	Nginx string
	// GitSync is the image with git, ssh and the public CA certificates, with which the agent fetches
	// the repository.
	GitSync string
	// Agent is the image with the agent, which runs in the container of GitSync.
	Agent string
	// PullSecrets are the names of the pull Secrets, which are read in the namespace of each Website.
	PullSecrets []string
	// Proxy is the proxy of git.
	Proxy Proxy
	// PlatformUserIDs leaves the user and group IDs of containers to the platform.
	PlatformUserIDs bool
	// AccessLogFormat is the format of the access log of nginx.
	AccessLogFormat AccessLogFormat
	// TrustedProxies are the networks whose X-Forwarded-For header names the client.
	TrustedProxies []string
}

// Deployment builds the Deployment of a Website. nginxConfig is from NginxConfig, and its changes
// replace the pods. It returns an error for a spec that cannot be turned into a command line safely;
// the validation of the API server rejects it as well.
func Deployment(website *v1beta1.Website, installation Installation,
	nginxConfig string) (*appsv1ac.DeploymentApplyConfiguration, error) {
	added := concernsOf(website, installation.Proxy)
	args, err := agentArgs(website, added, nginxConfig)
	if err != nil {
		return nil, fmt.Errorf("the Deployment of Website %q cannot be built: %w", website.Name, err)
	}

	replicas := int32(defaultReplicas)
	if website.Spec.Replicas != nil {
		replicas = *website.Spec.Replicas
	}

	pod := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(terminationGraceSeconds).
		WithSecurityContext(podSecurityContext(installation)).
		// The agent is a sidecar: it starts before nginx, and ends after nginx has answered the
		// requests in flight.
		WithInitContainers(agentContainer(website, installation), gitSyncContainer(website, installation, args, added)).
		WithContainers(nginxContainer(website, installation, added)).
		WithNodeSelector(website.Spec.Scheduling.NodeSelector).
		WithTolerations(tolerations(website.Spec.Scheduling.Tolerations)...).
		WithTopologySpreadConstraints(
			spread(website, corev1.LabelHostname),
			spread(website, corev1.LabelTopologyZone),
		).
		WithVolumes(
			emptyDir(gitVolume, diskLimit(website)),
			corev1ac.Volume().WithName(nginxConfigVolume).
				WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(ConfigMapName(website, nginxConfig))),
			emptyDir(nginxTempVolume, *byteQuantity(nginxTempSize)),
			emptyDir(gitSyncTempVolume, *byteQuantity(gitSyncTempSize)),
			emptyDir(agentVolume, *byteQuantity(agentSize)),
		).
		WithVolumes(added.volumes...).
		WithImagePullSecrets(pullSecrets(installation.PullSecrets)...)

	return appsv1ac.Deployment(DeploymentName(website), website.Namespace).
		WithLabels(PodLabels(website)).
		WithOwnerReferences(ownerReference(website)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas).
			WithRevisionHistoryLimit(keptRevisions).
			WithProgressDeadlineSeconds(ProgressDeadlineSeconds).
			WithStrategy(rollingUpdate()).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(PodSelector(website))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(PodLabels(website)).
				WithAnnotations(map[string]string{safeToEvict: "true"}).
				WithSpec(pod))), nil
}

// rollingUpdate keeps the requested number of serving pods: a new pod is ready before an old one is
// deleted, and a pod that never gets ready replaces none.
func rollingUpdate() *appsv1ac.DeploymentStrategyApplyConfiguration {
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxUnavailable(intstr.FromInt32(0)).
			WithMaxSurge(intstr.FromString("25%")))
}

// spread prefers an even spread of the pods of one revision. In a cluster with one node or zone, all
// pods run there.
func spread(website *v1beta1.Website, topologyKey string) *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).
		WithTopologyKey(topologyKey).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(PodSelector(website))).
		WithMatchLabelKeys(appsv1.DefaultDeploymentUniqueLabelKey)
}

// nginxContainer has no liveness probe: nginx replaces a worker that dies, a master that dies ends
// the container, and a failing probe on a busy node would stop a serving pod.
func nginxContainer(website *v1beta1.Website, installation Installation,
	added concern) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(NginxContainer).
		WithImage(installation.Nginx).
		// The entry point of the image edits a configuration that this command does not read, on a
		// file system that is read-only.
		WithCommand("nginx").
		WithArgs("-e", "stderr", "-c", nginxConfigPath+"/"+nginxConfigKey).
		WithPorts(
			containerPort(httpPortName, httpPort),
			containerPort(adminPortName, adminPort),
		).
		// A rollout to a missing directory of the repository stops here, while the previous pods keep
		// serving: without the directory the agent publishes nothing. A pod whose nginx is restarted
		// meanwhile serves the previous release.
		WithStartupProbe(adminProbe("/readyz").
			WithPeriodSeconds(1).
			WithTimeoutSeconds(2).
			WithFailureThreshold(startSeconds)).
		WithReadinessProbe(adminProbe("/readyz").
			WithPeriodSeconds(5).
			WithTimeoutSeconds(2).
			WithFailureThreshold(3)).
		// The stop signal of the image is SIGQUIT: nginx finishes its requests.
		WithLifecycle(corev1ac.Lifecycle().
			WithPreStop(corev1ac.LifecycleHandler().
				WithSleep(corev1ac.SleepAction().WithSeconds(drainSeconds)))).
		WithResources(requirements(website.Spec.Resources.Server, serverDefaults)).
		WithSecurityContext(restricted(installation, nginxUser)).
		WithVolumeMounts(
			// Only the releases are mounted, neither the repository nor the worktrees.
			corev1ac.VolumeMount().WithName(gitVolume).WithMountPath(siteMountPath).WithSubPath(siteDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(nginxConfigVolume).WithMountPath(nginxConfigPath).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(nginxTempVolume).WithMountPath(tempDir),
		).
		WithVolumeMounts(added.nginxMounts...)
}

// adminProbe probes nginx on the port that no Service exposes.
func adminProbe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().
			WithPath(path).
			WithPort(intstr.FromString(adminPortName)).
			WithScheme(corev1.URISchemeHTTP))
}

// emptyDir returns a volume with a size limit, so that a pod cannot fill its node.
func emptyDir(name string, limit resource.Quantity) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).
		WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(limit))
}

// containerPort sets the protocol, because it is part of the key of the list.
func containerPort(name string, port int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().
		WithName(name).
		WithContainerPort(port).
		WithProtocol(corev1.ProtocolTCP)
}

// tolerations returns the apply configurations of tolerations.
func tolerations(wanted []corev1.Toleration) (applied []*corev1ac.TolerationApplyConfiguration) {
	for _, t := range wanted {
		applied = append(applied, &corev1ac.TolerationApplyConfiguration{
			Key: unlessZero(t.Key), Operator: unlessZero(t.Operator), Value: unlessZero(t.Value),
			Effect: unlessZero(t.Effect), TolerationSeconds: t.TolerationSeconds,
		})
	}
	return applied
}

func unlessZero[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

func podSecurityContext(installation Installation) *corev1ac.PodSecurityContextApplyConfiguration {
	context := corev1ac.PodSecurityContext()
	if !installation.PlatformUserIDs {
		context.WithFSGroup(gitSyncUser)
	}
	return context.
		WithRunAsNonRoot(true).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
}

// restricted returns a security context that satisfies the restricted profile of
// Pod Security, with a read-only root file system.
func restricted(installation Installation, user int64) *corev1ac.SecurityContextApplyConfiguration {
	context := corev1ac.SecurityContext()
	if !installation.PlatformUserIDs {
		context.WithRunAsUser(user).WithRunAsGroup(user)
	}
	return context.
		WithRunAsNonRoot(true).
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
}

// gitSyncContainer is a sidecar without probes: nginx serves the fetched commit while the remote is
// unreachable, and a startup probe would delay nginx in a pod that has content already.
func gitSyncContainer(website *v1beta1.Website, installation Installation, args []string,
	added concern) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(GitSyncContainer).
		WithImage(installation.GitSync).
		WithRestartPolicy(corev1.ContainerRestartPolicyAlways).
		WithCommand(agentProgram).
		WithArgs(args...).
		WithEnv(added.env...).
		WithPorts(containerPort(metricsPortName, syncMetricsPort)).
		WithResources(requirements(website.Spec.Resources.Sync, gitSyncDefaults(website))).
		WithSecurityContext(restricted(installation, gitSyncUser)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(gitVolume).WithMountPath(gitMountPath),
			corev1ac.VolumeMount().WithName(gitSyncTempVolume).WithMountPath(tempDir),
			corev1ac.VolumeMount().WithName(agentVolume).WithMountPath(agentMountPath).WithReadOnly(true),
		).
		WithVolumeMounts(added.agentMounts...)
}
