package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Service builds the Service of a Website. A node port that the Website does
// not name is not part of it: the API server allocates one and keeps it,
// because a field that was never applied is not touched by a later apply.
func Service(website *v1beta1.Website) *corev1ac.ServiceApplyConfiguration {
	port := corev1ac.ServicePort().
		WithName(httpPortName).
		// Port and protocol are the key of this list; leaving the protocol to
		// the server's default would make the applied configuration differ
		// from what it extracts to.
		WithProtocol(corev1.ProtocolTCP).
		WithPort(ServicePort).
		WithTargetPort(intstr.FromString(httpPortName))
	if website.Spec.Service.NodePort != 0 {
		port.WithNodePort(website.Spec.Service.NodePort)
	}
	return corev1ac.Service(ServiceName(website), website.Namespace).
		WithLabels(supportLabels(website)).
		WithOwnerReferences(ownerReference(website)).
		WithSpec(corev1ac.ServiceSpec().
			// The types are called as Kubernetes calls them.
			WithType(corev1.ServiceType(website.Spec.Service.Type)).
			WithSelector(selectorLabels(website)).
			WithPorts(port))
}
