package resources

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// PodDisruptionBudgetName is the name of the PodDisruptionBudget of a Website.
func PodDisruptionBudgetName(website *v1beta1.Website) string {
	return website.Spec.DeploymentName
}

// WantsPodDisruptionBudget reports whether a Website has pods that can be evicted one after the
// other. A budget for a single one would either have no effect or block every drain of its node.
func WantsPodDisruptionBudget(website *v1beta1.Website) bool {
	return ptr.Deref(website.Spec.Replicas, defaultReplicas) > 1
}

// PodDisruptionBudget builds the PodDisruptionBudget of a Website. Pods that are not ready may always
// be evicted, so that a failing Website does not block a drain.
func PodDisruptionBudget(website *v1beta1.Website) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	return policyv1ac.PodDisruptionBudget(PodDisruptionBudgetName(website), website.Namespace).
		WithLabels(supportLabels(website)).
		WithOwnerReferences(ownerReference(website)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(PodSelector(website))))
}
