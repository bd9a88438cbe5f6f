package crdimport

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/registration"
)

func newDefinition(tweak func(definition *unstructured.Unstructured, version map[string]any)) *unstructured.Unstructured {
	version := map[string]any{"name": "v1alpha1"}
	definition := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": DefinitionName}}}
	tweak(definition, version)
	_ = unstructured.SetNestedSlice(definition.Object, []any{version}, "spec", "versions")
	return definition
}

// TestNext continues with the last step that is known to have begun.
func TestNext(t *testing.T) {
	plain := newDefinition(func(*unstructured.Unstructured, map[string]any) {})
	detached := newDefinition(func(_ *unstructured.Unstructured, version map[string]any) {
		version["deprecationWarning"] = deprecation
	})
	deleted := newDefinition(func(definition *unstructured.Unstructured, _ map[string]any) {
		now := metav1.Now()
		definition.SetDeletionTimestamp(&now)
	})
	local := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kube-aggregator.kubernetes.io/automanaged": "true"}}}
	handedOver := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{registration.AnnotationImport: "InProgress"}}}
	ours := &apiregistrationv1.APIService{}
	tests := map[string]struct {
		state state
		want  string
	}{
		"at first":                    {state{plain, local, false}, "freeze"},
		"frozen":                      {state{plain, local, true}, "freeze"},
		"handed over":                 {state{plain, handedOver, true}, "hand over"},
		"detached":                    {state{detached, handedOver, true}, "detach"},
		"being removed":               {state{deleted, handedOver, true}, "detach"},
		"removed":                     {state{nil, handedOver, true}, "remove"},
		"registered":                  {state{nil, ours, true}, "remove"},
		"complete":                    {state{nil, ours, false}, ""},
		"back from where it detached": {state{detached, local, true}, "freeze"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			steps := (&Importer{}).steps()
			got := ""
			if n := next(steps, tt.state); n < len(steps) {
				got = steps[n].name
			}
			if got != tt.want {
				t.Errorf("continues with %q, want %q", got, tt.want)
			}
		})
	}
}
