package workload

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// formerPort is the port of nginx in pods of the original controller.
const formerPort = 80

// FormerRevisions returns the revisions of pods.
func FormerRevisions(pods []*cached.Pod) sets.Set[string] {
	revisions := sets.New[string]()
	for _, pod := range pods {
		revisions.Insert(pod.Template)
	}
	return revisions
}

// FormerService builds the Service of a Website for pods of one revision of another controller.
// Otherwise the replacements would match its selector before they can answer on the port of these
// pods.
func FormerService(website *v1beta1.Website, existing *cached.Service,
	revision string) *corev1ac.ServiceApplyConfiguration {
	desired := resources.Service(website)
	desired.Spec.Selector = maps.Clone(resources.LegacyPodSelector(website))
	desired.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey] = revision
	desired.Spec.Ports[0].WithTargetPort(intstr.FromInt32(formerPort))
	keepUnnamed(desired, existing)
	return desired
}

// keepUnnamed leaves the port of a Service without a name: if the name changes, a node drops the
// endpoints until it receives those with the new one.
func keepUnnamed(desired *corev1ac.ServiceApplyConfiguration, existing *cached.Service) {
	if existing == nil || len(existing.Ports) != 1 {
		return
	}
	if port := existing.Ports[0]; port.Name == "" && port.Port == resources.ServicePort &&
		port.Protocol == corev1.ProtocolTCP {
		desired.Spec.Ports[0].Name = nil
	}
}

// IsFormer reports whether a Deployment has the pod template of the original controller, which ran
// git-sync as an ordinary container. The Deployment may be nil.
func IsFormer(deployment *cached.Deployment) bool { return deployment != nil && deployment.IsFormer }
