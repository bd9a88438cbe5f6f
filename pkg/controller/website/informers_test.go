package website

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
)

func TestKeepOwnManagedFields(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation}
	}
	obj := &corev1.Service{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		entry("kubectl-edit", metav1.ManagedFieldsOperationUpdate),
		entry("website-controller", metav1.ManagedFieldsOperationApply),
		entry("website-controller", metav1.ManagedFieldsOperationUpdate),
		entry("kube-controller-manager", metav1.ManagedFieldsOperationUpdate),
	}}}
	for range 2 { // An informer may transform an object more than once.
		if _, err := keepOwnManagedFields(obj); err != nil {
			t.Fatal(err)
		}
		if got := obj.ManagedFields; len(got) != 1 || got[0].Manager != "website-controller" || got[0].Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("managed fields: %v", got)
		}
	}
	tombstone := cache.DeletedFinalStateUnknown{Key: "a/b", Obj: obj}
	if got, err := keepOwnManagedFields(tombstone); err != nil || got != any(tombstone) {
		t.Errorf("a tombstone became %v, %v", got, err)
	}
}

// TestCompareNeedsOnlyOwnManagedFields: what the cache keeps is enough to see
// that nothing changed.
func TestCompareNeedsOnlyOwnManagedFields(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(newWebsite())
	for _, obj := range f.childInformers.Apps().V1().Deployments().Informer().GetIndexer().List() {
		for _, entry := range obj.(metav1.Object).GetManagedFields() {
			if entry.Manager != children.FieldManager {
				t.Fatalf("the cache keeps the fields of %q", entry.Manager)
			}
		}
	}
	f.reconcile(testKey)
	if got := f.requests(); len(got) > 0 {
		t.Errorf("requests: %q", got)
	}
}
