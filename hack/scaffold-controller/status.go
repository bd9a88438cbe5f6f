package main

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// setStatus reports the pods of the Deployment.
func setStatus(website *v1beta1.Website, deployment *appsv1.Deployment) {
	status, pods := &website.Status, deployment.Status
	status.ObservedGeneration = website.Generation
	status.Replicas, status.UpdatedReplicas = pods.Replicas, pods.UpdatedReplicas
	status.ReadyReplicas, status.AvailableReplicas = pods.ReadyReplicas, pods.AvailableReplicas
	status.Selector = labels.SelectorFromSet(resources.PodSelector(website)).String()

	want := int32(1)
	if website.Spec.Replicas != nil {
		want = *website.Spec.Replicas
	}
	isObserved := deployment.Generation > 0 && pods.ObservedGeneration >= deployment.Generation
	rolledOut := isObserved && pods.UpdatedReplicas == want && pods.Replicas == want && pods.AvailableReplicas == want
	setCondition(website, v1beta1.WebsiteReady, rolledOut, "RolledOut", "RollingOut")
	setCondition(website, v1beta1.WebsiteAvailable, pods.AvailableReplicas > 0 || want == 0, "PodsAvailable",
		"NoPodAvailable")
	setCondition(website, v1beta1.WebsiteProgressing, !rolledOut, "RollingOut", "RolledOut")
}

func setCondition(website *v1beta1.Website, kind string, is bool, ifTrue, ifFalse string) {
	condition := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: ifFalse,
		ObservedGeneration: website.Generation}
	if is {
		condition.Status, condition.Reason = metav1.ConditionTrue, ifTrue
	}
	meta.SetStatusCondition(&website.Status.Conditions, condition)
}
