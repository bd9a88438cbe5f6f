package workload

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// formerPort is where nginx listens in pods of the controller before this one.
const formerPort = 80

// FormerRevisions returns the revisions of pods.
func FormerRevisions(pods []corev1.Pod) sets.Set[string] {
	revisions := sets.New[string]()
	for i := range pods {
		revisions.Insert(pods[i].Labels[appsv1.DefaultDeploymentUniqueLabelKey])
	}
	return revisions
}

// FormerService builds the Service of a Website over pods of one revision, which another
// controller has made: those that replace them match its selector otherwise before they
// can answer at the port of these.
func FormerService(website *v1beta1.Website, existing *corev1.Service,
	revision string) *corev1ac.ServiceApplyConfiguration {
	desired := resources.Service(website)
	desired.Spec.Selector = maps.Clone(resources.LegacyPodSelector(website))
	desired.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey] = revision
	desired.Spec.Ports[0].WithTargetPort(intstr.FromInt32(formerPort))
	keepUnnamed(desired, existing)
	return desired
}

// keepUnnamed leaves the port of a Service without a name: a node forgets where requests
// go when the name changes, until it learns the endpoints of the new one.
func keepUnnamed(desired *corev1ac.ServiceApplyConfiguration, existing *corev1.Service) {
	if existing == nil || len(existing.Spec.Ports) != 1 {
		return
	}
	if port := existing.Spec.Ports[0]; port.Name == "" && port.Port == resources.ServicePort &&
		port.Protocol == corev1.ProtocolTCP {
		desired.Spec.Ports[0].Name = nil
	}
}

// IsFormer reports whether a pod template is that of the controller before this one, which
// ran git-sync as an ordinary container. There need not be a Deployment.
func IsFormer(deployment *appsv1.Deployment) bool {
	return deployment != nil && slices.ContainsFunc(deployment.Spec.Template.Spec.Containers,
		func(container corev1.Container) bool {
			return container.Name == resources.GitSyncContainer
		})
}
