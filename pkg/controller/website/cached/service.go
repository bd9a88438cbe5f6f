package cached

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// Service is the cached form of a Service.
type Service struct {
	Meta
	Selector Labels
	Ports    []corev1.ServicePort
	// Ingress are the addresses of the load balancer.
	Ingress []corev1.LoadBalancerIngress
}

// OfService returns the cached form of a Service.
func OfService(service *corev1.Service) *Service {
	kept := &Service{
		Meta: metaOf(service, Services), Selector: trimSelector(service.Spec.Selector),
		Ports: FirstOf(service.Spec.Ports), Ingress: FirstOf(service.Status.LoadBalancer.Ingress),
	}
	for i := range kept.Ports {
		port := &kept.Ports[i]
		Intern(&port.Name)
		Intern(&port.Protocol)
		Intern(&port.TargetPort.StrVal)
	}
	return kept
}

// PodDisruptionBudget is the cached form of a PodDisruptionBudget.
type PodDisruptionBudget struct {
	Meta
	// Selector is empty if no controller of Websites has ever selected pods so.
	Selector Labels
}

// OfPodDisruptionBudget returns the cached form of a PodDisruptionBudget.
func OfPodDisruptionBudget(budget *policyv1.PodDisruptionBudget) *PodDisruptionBudget {
	return &PodDisruptionBudget{metaOf(budget, PodDisruptionBudgets), trimLabelSelector(budget.Spec.Selector)}
}
