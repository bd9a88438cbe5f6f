package status

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// step is a change of a Website or its Deployment, and the status after it.
type step struct {
	when string
	// replicas is spec.replicas of the Website.
	replicas int32
	// total, updated and available are the pods of the Deployment.
	total, updated, available int32
	// unobserved is true while the Deployment controller has not observed the spec.
	unobserved bool
	ready      bool
	// isAvailable is the status of Available, reason the reason of Ready.
	isAvailable bool
	reason      string
	reconciling bool
}

// TestOnlyARolloutOrALossEndsReady plays changes of one Website: growing and
// shrinking keep it Ready, a new pod template and a lost pod do not.
func TestOnlyARolloutOrALossEndsReady(t *testing.T) {
	const serves, rolls, lost = v1beta1.WebsiteReasonServing, v1beta1.WebsiteReasonRolloutInProgress,
		v1beta1.WebsiteReasonMinimumReplicasUnavailable
	created := []step{
		{when: "created", replicas: 3, reason: rolls, reconciling: true},
		{when: "two of three", replicas: 3, total: 3, updated: 3, available: 2, isAvailable: true, reason: lost,
			reconciling: true},
		{when: "all", replicas: 3, total: 3, updated: 3, available: 3, ready: true, isAvailable: true, reason: serves},
	}
	for name, steps := range map[string][]step{
		"grows": {
			{when: "asked for", replicas: 10, total: 3, updated: 3, available: 3, unobserved: true, ready: true,
				isAvailable: true, reason: serves, reconciling: true},
			{when: "observed", replicas: 10, total: 3, updated: 3, available: 3, ready: true, isAvailable: true, reason: serves,
				reconciling: true},
			{when: "pods added", replicas: 10, total: 10, updated: 10, available: 5, ready: true, isAvailable: true,
				reason: serves, reconciling: true},
			{when: "all", replicas: 10, total: 10, updated: 10, available: 10, ready: true, isAvailable: true, reason: serves},
		},
		"loses a pod while it grows": {
			{when: "pods added", replicas: 10, total: 10, updated: 10, available: 5, ready: true, isAvailable: true,
				reason: serves, reconciling: true},
			{when: "lost", replicas: 10, total: 10, updated: 10, available: 4, reason: lost, reconciling: true},
			{when: "back, but not all", replicas: 10, total: 10, updated: 10, available: 9, isAvailable: true, reason: lost,
				reconciling: true},
			{when: "all", replicas: 10, total: 10, updated: 10, available: 10, ready: true, isAvailable: true, reason: serves},
		},
		"shrinks": {
			{when: "asked for", replicas: 1, total: 3, updated: 3, available: 3, unobserved: true, ready: true,
				isAvailable: true, reason: serves, reconciling: true},
			{when: "pods are ended", replicas: 1, total: 2, updated: 2, available: 2, ready: true, isAvailable: true,
				reason: serves, reconciling: true},
			{when: "done", replicas: 1, total: 1, updated: 1, available: 1, ready: true, isAvailable: true, reason: serves},
		},
		"loses a pod": {
			{when: "lost", replicas: 3, total: 3, updated: 3, available: 2, isAvailable: true, reason: lost, reconciling: true},
			{when: "loses another", replicas: 3, total: 3, updated: 3, available: 1, reason: lost, reconciling: true},
		},
		"rolls out": {
			{when: "not observed", replicas: 3, total: 3, updated: 3, available: 3, unobserved: true, ready: true,
				isAvailable: true, reason: serves, reconciling: true},
			{when: "observed", replicas: 3, total: 3, updated: 0, available: 3, isAvailable: true, reason: rolls,
				reconciling: true},
			{when: "one more", replicas: 3, total: 4, updated: 1, available: 3, isAvailable: true, reason: rolls,
				reconciling: true},
			{when: "done", replicas: 3, total: 3, updated: 3, available: 3, ready: true, isAvailable: true, reason: serves},
		},
		"loses a pod before a change is observed": {
			{when: "lost", replicas: 3, total: 3, updated: 3, available: 2, unobserved: true, isAvailable: true, reason: rolls,
				reconciling: true},
		},
		"rolls out and grows": {
			{when: "not observed", replicas: 4, total: 3, updated: 3, available: 3, unobserved: true, ready: true,
				isAvailable: true, reason: serves, reconciling: true},
			{when: "observed", replicas: 4, total: 3, updated: 0, available: 3, isAvailable: true, reason: rolls,
				reconciling: true},
		},
		"goes offline and comes back": {
			{when: "not observed", replicas: 0, total: 3, updated: 3, available: 3, unobserved: true, ready: true,
				isAvailable: true, reason: serves, reconciling: true},
			{when: "pods are ended", replicas: 0, total: 2, updated: 2, available: 2, ready: true, isAvailable: true,
				reason: serves, reconciling: true},
			{when: "offline", ready: true, isAvailable: true, reason: v1beta1.WebsiteReasonScaledToZero},
			{when: "asked for", replicas: 2, unobserved: true, reason: rolls, reconciling: true},
			{when: "one of two", replicas: 2, total: 2, updated: 2, available: 1, isAvailable: true, reason: lost,
				reconciling: true},
			{when: "all", replicas: 2, total: 2, updated: 2, available: 2, ready: true, isAvailable: true, reason: serves},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput()
			in.Pods, in.Probing = nil, false
			for _, s := range append(append([]step(nil), created...), steps...) {
				if in.wantedReplicas() != s.replicas || s.unobserved {
					in.Website.Generation++
					in.Deployment.Generation++
				}
				in.Website.Spec.Replicas = &s.replicas
				in.Deployment.Status = cached.DeploymentStatus{Replicas: s.total, UpdatedReplicas: s.updated,
					ReadyReplicas: s.available, AvailableReplicas: s.available, ObservedGeneration: in.Deployment.Generation}
				if s.unobserved {
					in.Deployment.Status.ObservedGeneration--
				}
				in.Website.Status = Compute(in)
				conditions := in.Website.Status.Conditions
				ready := meta.FindStatusCondition(conditions, v1beta1.WebsiteReady)
				got := step{s.when, s.replicas, s.total, s.updated, s.available, s.unobserved,
					ready.Status == metav1.ConditionTrue, meta.IsStatusConditionTrue(conditions, v1beta1.WebsiteAvailable),
					ready.Reason,
					meta.IsStatusConditionTrue(conditions, v1beta1.WebsiteReconciling)}
				if got != s {
					t.Errorf("%s: got\n%+v, want\n%+v", s.when, got, s)
				}
				// A rollout may still follow: Ready has the previous generation.
				if in.Website.Status.ObservedGeneration != ready.ObservedGeneration {
					t.Errorf("%s: the status is about generation %d, Ready about %d", s.when, in.Website.Status.ObservedGeneration,
						ready.ObservedGeneration)
				}
				if about, want := ready.ObservedGeneration, in.Website.Generation; s.unobserved && s.ready && about >= want ||
					!(s.unobserved && s.ready) && about != want {
					t.Errorf("%s: Ready is about generation %d of %d", s.when, about, want)
				}
			}
		})
	}
}
