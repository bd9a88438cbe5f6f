package takeover

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestTemplateManagers(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(1_700_000_000, 0)), metav1.NewTime(time.Unix(1_700_000_100, 0))
	const image = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"nginx\"}":{"f:image":{}}}}}}}`
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string,
		at metav1.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, Time: &at,
			FieldsV1: metav1.NewFieldsV1(fields)}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		entry("original", metav1.ManagedFieldsOperationUpdate, "", image, early),
		entry("kubectl-edit", metav1.ManagedFieldsOperationUpdate, "", image, late),
		entry("kubectl-rollout", metav1.ManagedFieldsOperationUpdate, "",
			`{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{}}}}}`, late),
		entry("autoscaler", metav1.ManagedFieldsOperationUpdate, "scale", `{"f:spec":{"f:replicas":{}}}`, late),
		entry("kube-controller-manager", metav1.ManagedFieldsOperationUpdate, "status", `{"f:status":{}}`, late),
		entry("website-controller", metav1.ManagedFieldsOperationApply, "", image, late),
	}}}
	managers, last := templateManagers(deployment)
	if got := sets.List(managers); !slices.Equal(got, []string{"kubectl-edit", "original"}) || !last.Equal(late.Time) {
		t.Errorf("managers %q, the last at %v; want those that have set something in the pods", got, last)
	}
}
