package unlabelled

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// newObject returns the metadata of an object with much that is not needed,
// controlled by something of a kind unless that is empty.
func newObject(name, ownerKind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: "uid", Labels: map[string]string{"a": "b"},
		Annotations:   map[string]string{"a": "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	if ownerKind != "" {
		object.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "mycontroller.nevermosby.io/v1alpha1", Kind: ownerKind, Name: "kubia", UID: "uid-of-kubia",
			Controller: ptr.To(true),
		}}
	}
	return object
}

func TestStore(t *testing.T) {
	var events []string
	s := newStore(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events = append(events, "add "+obj.(metav1.Object).GetName()) },
		UpdateFunc: func(_, obj any) { events = append(events, "update "+obj.(metav1.Object).GetName()) },
		DeleteFunc: func(obj any) { events = append(events, "delete "+obj.(metav1.Object).GetName()) },
	})
	for _, step := range []struct {
		name string
		do   func() error
		want []string
		kept int
	}{
		{"the initial list", func() error {
			return s.Replace([]any{newObject("child", "Website"), newObject("foreign", ""), newObject("of-a-shop", "Shop")}, "1")
		}, []string{"add child"}, 1},
		{"a foreign one comes", func() error { return s.Add(newObject("another", "")) }, nil, 1},
		{"a foreign one goes: a Website may wait for its name", func() error { return s.Delete(newObject("another", "")) },
			[]string{"delete another"}, 1},
		{"a child changes", func() error { return s.Update(newObject("child", "Website")) }, []string{"update child"}, 1},
		{"a foreign one gets an owner", func() error { return s.Update(newObject("foreign", "Website")) },
			[]string{"add foreign"}, 2},
		{"and loses it", func() error { return s.Update(newObject("foreign", "")) }, []string{"update foreign"}, 1},
		{"a child is deleted", func() error { return s.Delete(newObject("child", "Website")) }, []string{"delete child"}, 0},
		{"children come", func() error { return s.Add(newObject("child", "Website")) }, []string{"add child"}, 1},
		{"a deletion is missed", func() error { return s.Replace([]any{newObject("foreign", "")}, "9") },
			[]string{"delete child"}, 0},
	} {
		events = nil
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(events, step.want) {
			t.Errorf("%s: events %q, want %q", step.name, events, step.want)
		}
		if kept := len(s.List()); kept != step.kept {
			t.Errorf("%s: %d objects are kept, want %d", step.name, kept, step.kept)
		}
	}
	if !s.HasSynced() {
		t.Error("not synced after the initial list")
	}
}

// TestOf: a child is found by the UID of its owner, in the namespace of that.
func TestOf(t *testing.T) {
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	services := corev1.SchemeGroupVersion.WithResource("services")
	w := New(nil, metav1.NamespaceAll)
	w.Add(deployments, cache.ResourceEventHandlerFuncs{})
	w.Add(services, cache.ResourceEventHandlerFuncs{})
	elsewhere := newObject("elsewhere", "Website")
	elsewhere.Namespace = "other"
	list := []any{newObject("b", "Website"), newObject("a", "Website"), newObject("c", "Shop"), elsewhere}
	if err := w.stores[deployments].Replace(list, "1"); err != nil {
		t.Fatal(err)
	}
	website := func(uid string) metav1.Object {
		object := newObject("kubia", "")
		object.UID = types.UID(uid)
		return object
	}
	if got := w.Of(deployments, website("uid-of-kubia")); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the Deployments are %q, want a and b", got)
	}
	if got := w.Of(services, website("uid-of-kubia")); len(got) > 0 {
		t.Errorf("the Services are %q, want none", got)
	}
	if got := w.Of(deployments, website("uid-of-another")); len(got) > 0 {
		t.Errorf("the Deployments of another Website are %q, want none", got)
	}
}

func trimmed(object *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	kept, _ := trim(object)
	return kept.(*metav1.PartialObjectMetadata)
}

func TestTrim(t *testing.T) {
	ownedByMany := newObject("x", "Website")
	for range 100 {
		ownedByMany.OwnerReferences = append(ownedByMany.OwnerReferences,
			metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"})
	}
	if kept := trimmed(ownedByMany).OwnerReferences; len(kept) != 1 || kept[0].UID != "uid-of-kubia" {
		t.Errorf("%d owners are kept, want the controller", len(kept))
	}
	for name, object := range map[string]*metav1.PartialObjectMetadata{"child": newObject("x", "Website"),
		"foreign": newObject("x", "Shop")} {
		trimmed := trimmed(object)
		if trimmed.Name != "x" || trimmed.Namespace != "default" ||
			len(trimmed.Labels)+len(trimmed.Annotations)+len(trimmed.ManagedFields) > 0 {
			t.Errorf("%s: %+v", name, trimmed)
		}
		if got := len(trimmed.OwnerReferences) > 0; got != (name == "child") {
			t.Errorf("%s: owners are kept: %t", name, got)
		}
	}
}
