package resources

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// HTTPTargetPort is the named port of nginx in every pod.
var HTTPTargetPort = intstr.FromString(httpPortName)

// Service builds the Service of a Website. It omits a node port that the Website does not name: the
// API server allocates one and keeps it, because a later apply does not change a field that was never
// applied.
func Service(website *v1beta1.Website) *corev1ac.ServiceApplyConfiguration {
	port := corev1ac.ServicePort().
		WithName(httpPortName).
		// Port and protocol are the key of this list; with the server's default for the protocol, the
		// applied configuration would differ from the extracted one.
		WithProtocol(corev1.ProtocolTCP).
		WithPort(ServicePort).
		WithTargetPort(HTTPTargetPort)
	if website.Spec.Service.NodePort != 0 {
		port.WithNodePort(website.Spec.Service.NodePort)
	}
	spec := corev1ac.ServiceSpec().
		// The types have the names of the Service types.
		WithType(corev1.ServiceType(website.Spec.Service.Type)).
		WithSelector(PodSelector(website)).
		WithPorts(port)
	if website.Spec.Service.LoadBalancerClass != "" {
		spec.WithLoadBalancerClass(website.Spec.Service.LoadBalancerClass)
	}
	return corev1ac.Service(ServiceName(website), website.Namespace).
		WithLabels(supportLabels(website)).
		WithAnnotations(website.Spec.Service.Annotations).
		WithOwnerReferences(ownerReference(website)).
		WithSpec(spec)
}

// NodePortToRestore returns the node port for a Service that has to be created again, or 0 if the
// Website needs none or names one itself.
func NodePortToRestore(website *v1beta1.Website) int32 {
	if website.Spec.Service.Type == v1beta1.ServiceTypeClusterIP || website.Spec.Service.NodePort != 0 {
		return 0
	}
	return website.Status.NodePort
}

// WithNodePort sets the node port of a Service.
func WithNodePort(service *corev1ac.ServiceApplyConfiguration, port int32) *corev1ac.ServiceApplyConfiguration {
	service.Spec.Ports[0].WithNodePort(port)
	return service
}
