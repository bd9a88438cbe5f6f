package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// servicePort is the port of the Service inside the cluster.
const servicePort = 80

// Service builds the Service of a Website. The node port itself is not part of
// it: the API server allocates one and keeps it, because a field that was never
// applied is not touched by a later apply.
func Service(site *v1alpha1.Website) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(ServiceName(site), site.Namespace).
		WithLabels(supportLabels(site)).
		WithOwnerReferences(ownerReference(site)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeNodePort).
			WithSelector(selectorLabels(site)).
			WithPorts(corev1ac.ServicePort().
				WithName(httpPortName).
				// Port and protocol are the key of this list; leaving the
				// protocol to the server's default would make the applied
				// configuration differ from what it extracts to.
				WithProtocol(corev1.ProtocolTCP).
				WithPort(servicePort).
				WithTargetPort(intstr.FromString(httpPortName))))
}
