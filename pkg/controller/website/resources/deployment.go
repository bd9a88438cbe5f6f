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
	// NginxContainer is the name of the container that serves.
	NginxContainer = "nginx"
	// GitSyncContainer is the name of the container that fetches.
	GitSyncContainer = "git-sync"

	// NginxConfigHashAnnotation is the annotation of the pod template that
	// carries the hash of the nginx configuration.
	NginxConfigHashAnnotation = "mycontroller.nevermosby.io/nginx-config-hash"

	httpPortName    = "http"
	adminPortName   = "admin"
	metricsPortName = "sync-metrics"

	gitVolume         = "git"
	nginxConfigVolume = "nginx-config"
	nginxTempVolume   = "nginx-tmp"
	gitSyncTempVolume = "git-sync-tmp"

	gitMountPath    = "/git"
	nginxConfigPath = "/etc/website"

	// nginxUser is the user of the nginx-unprivileged image.
	nginxUser = 101
	// gitSyncUser is the user of the git-sync image.
	gitSyncUser = 65533

	// startSeconds is how long nginx may wait for a first commit before it is
	// restarted: longer than any clone, since a restart brings nothing.
	startSeconds = 3600
	// drainSeconds is how long nginx goes on accepting requests after its pod
	// began to terminate: the time that the news takes to reach every node.
	drainSeconds = 5
	// terminationGraceSeconds leaves requests in flight the rest of the time.
	terminationGraceSeconds = 30

	// defaultReplicas repeats the default of the API for an object that did
	// not come from a server.
	defaultReplicas = 1
	// keptRevisions is how many old ReplicaSets stay. A rollback is a git
	// matter, so they serve for little but reading.
	keptRevisions = 3
)

// Images are the container images that the pods of every Website run.
type Images struct {
	// Nginx serves the files. It must be an nginx that runs as user 101.
	Nginx string
	// GitSync fetches the repository. It must take the flags of git-sync v4.7.
	GitSync string
}

// Deployment builds the Deployment of a Website, whose pods roll whenever the
// nginx configuration, which is what NginxConfig returned for it, changes. It
// returns an error when the spec cannot be turned into a command line safely;
// the API server refuses such a spec as well, so this is the second fence.
func Deployment(site *v1beta1.Website, images Images, nginxConfig string) (*appsv1ac.DeploymentApplyConfiguration, error) {
	gitSync, err := gitSyncContainer(site, images.GitSync)
	if err != nil {
		return nil, err
	}

	replicas := int32(defaultReplicas)
	if site.Spec.Replicas != nil {
		replicas = *site.Spec.Replicas
	}

	pod := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(terminationGraceSeconds).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithFSGroup(gitSyncUser).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		// A sidecar: it starts first, and it ends when nginx has answered the
		// requests in flight.
		WithInitContainers(gitSync).
		WithContainers(nginxContainer(site, images.Nginx)).
		WithNodeSelector(site.Spec.Scheduling.NodeSelector).
		WithTolerations(tolerations(site.Spec.Scheduling.Tolerations)...).
		WithTopologySpreadConstraints(
			spread(site, corev1.LabelHostname),
			spread(site, corev1.LabelTopologyZone),
		).
		WithVolumes(
			emptyDir(gitVolume, "2Gi"),
			corev1ac.Volume().WithName(nginxConfigVolume).
				WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(ConfigMapName(site))),
			emptyDir(nginxTempVolume, "64Mi"),
			emptyDir(gitSyncTempVolume, "256Mi"),
		).
		WithVolumes(credentialVolumes(&site.Spec.Source)...)

	return appsv1ac.Deployment(DeploymentName(site), site.Namespace).
		WithLabels(podLabels(site)).
		WithOwnerReferences(ownerReference(site)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas).
			WithRevisionHistoryLimit(keptRevisions).
			WithStrategy(rollingUpdate()).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(site))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(podLabels(site)).
				WithAnnotations(map[string]string{NginxConfigHashAnnotation: hash(nginxConfig)}).
				WithSpec(pod))), nil
}

// rollingUpdate never has fewer pods that serve than are asked for: a new one
// is ready before an old one goes, and one that never gets ready replaces none.
func rollingUpdate() *appsv1ac.DeploymentStrategyApplyConfiguration {
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxUnavailable(intstr.FromInt32(0)).
			WithMaxSurge(intstr.FromString("25%")))
}

// spread asks the scheduler for an even spread of the pods of one revision. It
// is a wish: a cluster with one node or zone runs all of them there.
func spread(site *v1beta1.Website, topologyKey string) *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).
		WithTopologyKey(topologyKey).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(site))).
		WithMatchLabelKeys(appsv1.DefaultDeploymentUniqueLabelKey)
}

// nginxContainer has no liveness probe: nginx replaces a worker that dies, a
// master that dies ends the container, and a probe that fails on a busy node
// would take down a site that works.
func nginxContainer(site *v1beta1.Website, image string) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(NginxContainer).
		WithImage(image).
		// Not the image's entry point, which edits the configuration that this
		// command does not read, on a file system that it cannot write to.
		WithCommand("nginx").
		WithArgs("-e", "stderr", "-c", nginxConfigPath+"/"+nginxConfigKey).
		WithPorts(
			containerPort(httpPortName, httpPort),
			containerPort(adminPortName, adminPort),
		).
		// A rollout to a folder that the repository does not have stops here,
		// with the pods that serve still serving.
		WithStartupProbe(adminProbe("/startupz").
			WithPeriodSeconds(1).
			WithTimeoutSeconds(2).
			WithFailureThreshold(startSeconds)).
		WithReadinessProbe(adminProbe("/readyz").
			WithPeriodSeconds(5).
			WithTimeoutSeconds(2).
			WithFailureThreshold(3)).
		// The image asks for SIGQUIT, with which nginx finishes what it began.
		WithLifecycle(corev1ac.Lifecycle().
			WithPreStop(corev1ac.LifecycleHandler().
				WithSleep(corev1ac.SleepAction().WithSeconds(drainSeconds)))).
		WithResources(requirements(site.Spec.Resources.Server, "10m", "32Mi", "1", "128Mi")).
		WithSecurityContext(restricted(nginxUser)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(gitVolume).WithMountPath(gitMountPath).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(nginxConfigVolume).WithMountPath(nginxConfigPath).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(nginxTempVolume).WithMountPath(tempDir),
		)
}

// adminProbe asks nginx itself, on the port that is in no Service.
func adminProbe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().
			WithPath(path).
			WithPort(intstr.FromString(adminPortName)).
			WithScheme(corev1.URISchemeHTTP))
}

// emptyDir is a volume that lives as long as its pod and cannot fill the node.
func emptyDir(name, limit string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).
		WithEmptyDir(corev1ac.EmptyDirVolumeSource().WithSizeLimit(resource.MustParse(limit)))
}

// containerPort states the protocol, because it is half of the list's key.
func containerPort(name string, port int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().
		WithName(name).
		WithContainerPort(port).
		WithProtocol(corev1.ProtocolTCP)
}

// tolerations copies what a Website says into the form that is applied.
func tolerations(wanted []corev1.Toleration) []*corev1ac.TolerationApplyConfiguration {
	var applied []*corev1ac.TolerationApplyConfiguration
	for _, t := range wanted {
		a := corev1ac.Toleration()
		if t.Key != "" {
			a.WithKey(t.Key)
		}
		if t.Operator != "" {
			a.WithOperator(t.Operator)
		}
		if t.Value != "" {
			a.WithValue(t.Value)
		}
		if t.Effect != "" {
			a.WithEffect(t.Effect)
		}
		if t.TolerationSeconds != nil {
			a.WithTolerationSeconds(*t.TolerationSeconds)
		}
		applied = append(applied, a)
	}
	return applied
}

// requirements are what a Website says, or these defaults when it says nothing.
// The defaults are in the form that the API server writes quantities in ("1",
// not "1000m"); any other form would differ from itself when read back.
func requirements(wanted corev1.ResourceRequirements, cpuRequest, memoryRequest, cpuLimit, memoryLimit string) *corev1ac.ResourceRequirementsApplyConfiguration {
	if len(wanted.Requests) > 0 || len(wanted.Limits) > 0 {
		applied := corev1ac.ResourceRequirements()
		if len(wanted.Requests) > 0 {
			applied.WithRequests(wanted.Requests)
		}
		if len(wanted.Limits) > 0 {
			applied.WithLimits(wanted.Limits)
		}
		return applied
	}
	return corev1ac.ResourceRequirements().
		WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpuRequest),
			corev1.ResourceMemory: resource.MustParse(memoryRequest),
		}).
		WithLimits(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpuLimit),
			corev1.ResourceMemory: resource.MustParse(memoryLimit),
		})
}

// restricted is what Pod Security's restricted profile asks of a container, and
// a read-only root file system on top.
func restricted(user int64) *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithRunAsNonRoot(true).
		WithRunAsUser(user).
		WithRunAsGroup(user).
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
}

// gitSyncContainer is a sidecar without probes: whether git-sync reaches its
// remote says nothing about whether the site can be served, and a startup probe
// would keep nginx from starting over content that is there already.
func gitSyncContainer(site *v1beta1.Website, image string) (*corev1ac.ContainerApplyConfiguration, error) {
	args, err := gitSyncArgs(site)
	if err != nil {
		return nil, fmt.Errorf("the Deployment of Website %q cannot be built: %w", site.Name, err)
	}
	return corev1ac.Container().
		WithName(GitSyncContainer).
		WithImage(image).
		WithRestartPolicy(corev1.ContainerRestartPolicyAlways).
		WithArgs(unexpandedArgs(args)...).
		WithArgs(credentialArgs(&site.Spec.Source)...).
		WithEnv(gitVariables(&site.Spec.Source)...).
		WithEnv(credentialVariables(&site.Spec.Source)...).
		WithPorts(containerPort(metricsPortName, gitSyncMetricsPort)).
		WithResources(requirements(site.Spec.Resources.Sync, "10m", "64Mi", "1", "256Mi")).
		WithSecurityContext(restricted(gitSyncUser)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(gitVolume).WithMountPath(gitMountPath),
			corev1ac.VolumeMount().WithName(gitSyncTempVolume).WithMountPath(tempDir),
		).
		WithVolumeMounts(credentialMounts(&site.Spec.Source)...), nil
}
