package crdimport

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

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
		"at first":                    {state{plain, local, ""}, "freeze"},
		"frozen":                      {state{plain, local, "policy"}, "freeze"},
		"handed over":                 {state{plain, handedOver, "policy"}, "hand over"},
		"detached":                    {state{detached, handedOver, "policy"}, "detach"},
		"being removed":               {state{deleted, handedOver, "policy"}, "detach"},
		"removed":                     {state{nil, handedOver, "policy"}, "remove"},
		"registered":                  {state{nil, ours, "policy"}, "remove"},
		"complete":                    {state{nil, ours, ""}, ""},
		"back from where it detached": {state{detached, local, "policy"}, "freeze"},
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

// TestGoesOn: a command that another one has overtaken changes nothing more.
func TestGoesOn(t *testing.T) {
	definition := func(deleted bool) *unstructured.Unstructured {
		d := &unstructured.Unstructured{}
		if deleted {
			d.SetDeletionTimestamp(ptr.To(metav1.Now()))
		}
		return d
	}
	service := func(annotations, labels map[string]string) *apiregistrationv1.APIService {
		return &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Annotations: annotations, Labels: labels}}
	}
	local := service(nil, map[string]string{"kube-aggregator.kubernetes.io/automanaged": "true"})
	handedOver := service(map[string]string{registration.AnnotationImport: "InProgress"}, nil)
	tests := map[string]struct {
		state state
		step  string
		want  bool
	}{
		"to copy":                             {state{definition(false), local, "policy"}, "copy", true},
		"to copy, after going back":           {state{definition(false), local, ""}, "copy", false},
		"to hand over, after going back":      {state{definition(false), local, ""}, "hand over", false},
		"to hand over, begun again":           {state{definition(false), local, "another"}, "hand over", false},
		"to detach":                           {state{definition(false), handedOver, "policy"}, "detach", true},
		"to detach, after going back":         {state{definition(false), local, ""}, "detach", false},
		"to detach, while another goes back":  {state{definition(false), local, "policy"}, "detach", false},
		"to remove":                           {state{definition(false), handedOver, "policy"}, "remove", true},
		"to remove, while another goes back":  {state{definition(false), local, "policy"}, "remove", false},
		"to remove, begun again":              {state{definition(false), handedOver, "another"}, "remove", false},
		"to finish":                           {state{nil, handedOver, "policy"}, "finish", true},
		"to finish, which another has done":   {state{nil, service(nil, nil), ""}, "finish", true},
		"to remove, which another one is at":  {state{definition(true), handedOver, "policy"}, "remove", true},
		"to detach, without a service at all": {state{definition(false), nil, "policy"}, "detach", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.state.goesOn("policy", test.step); (err == nil) != test.want {
				t.Errorf("error %v, want it to go on: %t", err, test.want)
			}
		})
	}
}
