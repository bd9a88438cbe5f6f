package workload

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// DeploymentSelector returns the selector for the Deployment of a Website. A selector is immutable, so
// an existing Deployment keeps its selector if that selects only pods of the Website. existing may be
// nil.
func DeploymentSelector(website *v1beta1.Website, existing *cached.Deployment) map[string]string {
	if existing != nil {
		if selector := existing.Selector.Set(); selects(selector, resources.PodLabels(website)) {
			return selector
		}
	}
	return resources.PodSelector(website)
}

// selects reports whether a selector selects pods with these labels, and no pods of other Websites.
// The latter matters because a new Service has the selector of the Deployment until a pod is ready.
func selects(selector, labels map[string]string) bool {
	if selector[resources.LabelDeployment] == "" && selector[resources.LabelController] == "" {
		return false
	}
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// ServingPodSelector returns labels that all ready pods of a Deployment have. They include
// resources.LabelDeployment once all ready pods have that label. The caller passes only pods that a
// version of this controller has created, so they have the named port of resources.Service. Without
// ready pods, the result is nil unless the selector of the Deployment has resources.LabelDeployment:
// pods without the label, or of the original controller, may still serve.
func ServingPodSelector(website *v1beta1.Website, deployment *cached.Deployment,
	ready []*cached.Pod) map[string]string {
	exact, name := resources.PodSelector(website), resources.DeploymentName(website)
	if deployment.Selector.Set()[resources.LabelDeployment] == name {
		return exact
	}
	if len(ready) == 0 {
		return nil
	}
	for _, pod := range ready {
		if pod.Labels.Set()[resources.LabelDeployment] != name {
			return resources.LegacyPodSelector(website)
		}
	}
	return exact
}

// Service builds the Service of a Website, with podSelector as its selector. If podSelector is nil, an
// existing Service keeps its selector and its target port.
func Service(website *v1beta1.Website, deployment *cached.Deployment, existing *cached.Service,
	podSelector map[string]string) *corev1ac.ServiceApplyConfiguration {
	desired := resources.Service(website)
	keepUnnamed(desired, existing)
	switch {
	case podSelector != nil:
		desired.Spec.Selector = podSelector
	case existing == nil:
		desired.Spec.Selector = DeploymentSelector(website, deployment)
	default:
		desired.Spec.Selector = existing.Selector.Set()
		for _, port := range existing.Ports {
			if port.Port == resources.ServicePort && port.Protocol == corev1.ProtocolTCP {
				desired.Spec.Ports[0].WithTargetPort(port.TargetPort)
			}
		}
	}
	return desired
}

// PodDisruptionBudget builds the PodDisruptionBudget of a Website, with podSelector as its selector. If
// podSelector is nil, an existing PodDisruptionBudget keeps its selector.
func PodDisruptionBudget(
	website *v1beta1.Website, deployment *cached.Deployment, existing *cached.PodDisruptionBudget,
	podSelector map[string]string,
) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	desired := resources.PodDisruptionBudget(website)
	switch {
	case podSelector != nil:
		desired.Spec.Selector.MatchLabels = podSelector
	case existing == nil || existing.Selector == "":
		desired.Spec.Selector.MatchLabels = DeploymentSelector(website, deployment)
	default:
		desired.Spec.Selector.MatchLabels = existing.Selector.Set()
	}
	return desired
}
