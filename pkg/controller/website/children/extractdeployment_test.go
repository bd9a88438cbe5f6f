package children

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
)

// TestExtractDeployment compares with client-go what is extracted of Deployments that it accepts.
func TestExtractDeployment(t *testing.T) {
	for name, tweak := range map[string]func(*appsv1.Deployment){
		"as applied":        func(*appsv1.Deployment) {},
		"an edit":           func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "nginx:2" },
		"a field gone":      func(d *appsv1.Deployment) { d.Spec.Replicas = nil },
		"no managed fields": func(d *appsv1.Deployment) { d.ManagedFields = nil },
		"an update":         func(d *appsv1.Deployment) { d.ManagedFields[1].Operation = metav1.ManagedFieldsOperationUpdate },
		"another manager":   func(d *appsv1.Deployment) { d.ManagedFields[1].Manager = "kubectl" },
	} {
		deployment := newDeployment(tweak)
		want, err := appsv1ac.ExtractDeployment(deployment, FieldManager)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := extractDeployment(deployment, FieldManager); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: extracted %+v (%v), want %+v", name, got, err, want)
		}
	}
}

// TestExtractNothing: of an entry without fields nothing was applied.
func TestExtractNothing(t *testing.T) {
	for name, fields := range map[string]*metav1.FieldsV1{"none": nil, "an empty set": metav1.NewFieldsV1(`{}`)} {
		deployment := newDeployment(func(d *appsv1.Deployment) { d.ManagedFields[1].FieldsV1 = fields })
		if got, err := extractDeployment(deployment, FieldManager); err != nil || !reflect.DeepEqual(got, appsv1ac.Deployment("site", "default")) {
			t.Errorf("%s: extracted %+v (%v)", name, got, err)
		}
	}
}
