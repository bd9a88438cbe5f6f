package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

func TestRequestedByUser(t *testing.T) {
	progressing := func(reason string) func(*v1beta1.Website, *appsv1.Deployment) {
		return func(website *v1beta1.Website, _ *appsv1.Deployment) {
			website.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteProgressing, Reason: reason}}
		}
	}
	written := func(generation string) func(*v1beta1.Website, *appsv1.Deployment) {
		return func(_ *v1beta1.Website, deployment *appsv1.Deployment) {
			deployment.Annotations = map[string]string{cached.GenerationAnnotation: generation}
		}
	}
	for name, test := range map[string]struct {
		tweaks []func(*v1beta1.Website, *appsv1.Deployment)
		want   bool
	}{
		"nothing but the controller has changed": {},
		"the Website has changed": {
			tweaks: []func(*v1beta1.Website, *appsv1.Deployment){
				func(w *v1beta1.Website, _ *appsv1.Deployment) { w.Generation++ },
			},
			want: true,
		},
		"an earlier change did not concern the Deployment": {
			tweaks: []func(*v1beta1.Website, *appsv1.Deployment){written("2")},
		},
		"an earlier change could not be written": {
			tweaks: []func(*v1beta1.Website, *appsv1.Deployment){written("2"), progressing(v1beta1.WebsiteReasonQuotaExceeded)},
			want:   true,
		},
		"an earlier change was written, another child not": {
			tweaks: []func(*v1beta1.Website, *appsv1.Deployment){progressing(v1beta1.WebsiteReasonNodePortTaken)},
		},
		"an earlier change could not be written before a deletion": {tweaks: []func(*v1beta1.Website,
			*appsv1.Deployment){written("2"), func(w *v1beta1.Website, _ *appsv1.Deployment) {
			w.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteProgressing, Status: metav1.ConditionFalse,
				Reason: v1beta1.WebsiteReasonRolloutInProgress}}
		}}, want: true},
		"it waits already": {tweaks: []func(*v1beta1.Website, *appsv1.Deployment){written("2"),
			progressing(v1beta1.WebsiteReasonRolloutPending)}},
		"a Deployment of before the annotation": {tweaks: []func(*v1beta1.Website, *appsv1.Deployment){written("")}},
	} {
		t.Run(name, func(t *testing.T) {
			website := &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Generation: 3},
				Status: v1beta1.WebsiteStatus{ObservedGeneration: 3}}
			deployment := &appsv1.Deployment{}
			progressing(v1beta1.WebsiteReasonRolloutComplete)(website, deployment)
			written("3")(website, deployment)
			for _, tweak := range test.tweaks {
				tweak(website, deployment)
			}
			if got := RequestedByUser(website, cached.OfDeployment(deployment)); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestInProgress(t *testing.T) {
	progressing := func(status corev1.ConditionStatus, reason string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: status,
				Reason: reason}}
		}
	}
	for name, test := range map[string]struct {
		tweak func(*appsv1.Deployment)
		want  bool
	}{
		"pods are replaced": {func(*appsv1.Deployment) {}, true},
		"not observed yet": {func(d *appsv1.Deployment) {
			d.Generation++
			progressing("True", "NewReplicaSetAvailable")(d)
		}, true},
		"without a condition": {func(d *appsv1.Deployment) { d.Status.Conditions = nil }, true},
		"complete":            {progressing("True", "NewReplicaSetAvailable"), false},
		"complete, a pod was lost": {func(d *appsv1.Deployment) {
			progressing("True", "NewReplicaSetAvailable")(d)
			d.Status.AvailableReplicas = 0
		}, false},
		"back to an earlier revision": {func(d *appsv1.Deployment) {
			progressing("True", "NewReplicaSetAvailable")(d)
			d.Status.UpdatedReplicas = 0
		}, true},
		"deadline exceeded":      {progressing("False", "ProgressDeadlineExceeded"), false},
		"pods cannot be created": {progressing("False", "ReplicaSetCreateError"), true},
		"paused":                 {func(d *appsv1.Deployment) { d.Spec.Paused = true }, false},
		"without pods":           {func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](0) }, false},
		"requested by a user":    {func(d *appsv1.Deployment) { d.Annotations = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Generation: 2,
					Annotations: map[string]string{cached.LimitedRolloutAnnotation: "true"}},
				Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2},
			}
			progressing("True", "ReplicaSetUpdated")(deployment)
			test.tweak(deployment)
			if got := InProgress(cached.OfDeployment(deployment)); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
	if InProgress(nil) {
		t.Error("a Deployment that does not exist is in progress")
	}
}
