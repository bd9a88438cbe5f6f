package crdimport

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/registration"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

func newDefinition(
	tweak func(definition *unstructured.Unstructured, version map[string]any),
) *unstructured.Unstructured {
	version := map[string]any{"name": "v1alpha1"}
	definition := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": DefinitionName}}}
	tweak(definition, version)
	_ = unstructured.SetNestedSlice(definition.Object, []any{version}, "spec", "versions")
	return definition
}

func newDeletedDefinition() *unstructured.Unstructured {
	return newDefinition(func(definition *unstructured.Unstructured, _ map[string]any) {
		now := metav1.Now()
		definition.SetDeletionTimestamp(&now)
	})
}

// TestNext continues with the last step that is known to have begun.
func TestNext(t *testing.T) {
	plain, deleted := newDefinition(func(*unstructured.Unstructured, map[string]any) {}), newDeletedDefinition()
	detached := newDefinition(func(_ *unstructured.Unstructured, version map[string]any) {
		version["deprecationWarning"] = deprecation("policy")
	})
	local := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kube-aggregator.kubernetes.io/automanaged": "true"}},
	}
	handedOver := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{registration.AnnotationImport: "InProgress"}},
	}
	ours := &apiregistrationv1.APIService{}
	tests := map[string]struct {
		state state
		want  string
	}{
		"at first":                    {state{plain, local, ""}, "freeze"},
		"frozen":                      {state{plain, local, "policy"}, "freeze"},
		"handed over":                 {state{plain, handedOver, "policy"}, "hand over"},
		"detached":                    {state{detached, handedOver, "policy"}, "detach"},
		"detached by a former import": {state{detached, handedOver, "another"}, "hand over"},
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

// TestProgress: a step that has had its effect is done, although Run repeats it for its wait.
func TestProgress(t *testing.T) {
	plain := newDefinition(func(*unstructured.Unstructured, map[string]any) {})
	local, handedOver := &apiregistrationv1.APIService{}, &apiregistrationv1.APIService{}
	local.Labels = map[string]string{"kube-aggregator.kubernetes.io/automanaged": "true"}
	handedOver.Annotations = map[string]string{registration.AnnotationImport: "InProgress"}
	all := []string{"freeze", "copy", "hand over", "detach", "remove"}
	for name, test := range map[string]struct {
		state state
		done  []string
		again string
	}{
		"at first":      {state{plain, local, ""}, nil, ""},
		"frozen":        {state{plain, local, "policy"}, all[:1], "freeze"},
		"handed over":   {state{plain, handedOver, "policy"}, all[:3], "hand over"},
		"being removed": {state{newDeletedDefinition(), handedOver, "policy"}, all[:4], "detach"},
		"removed":       {state{nil, handedOver, "policy"}, all, "remove"},
	} {
		t.Run(name, func(t *testing.T) {
			var done []string
			again := ""
			for _, line := range progress((&Importer{}).steps(), test.state) {
				name, rest := strings.TrimSpace(line[:11]), line[11:]
				if strings.HasPrefix(rest, "done") {
					done = append(done, name)
				}
				if strings.Contains(rest, "run waits again") {
					again = name
				}
			}
			if !slices.Equal(done, test.done) || again != test.again {
				t.Errorf("done are %q, run waits for %q again, want %q and %q", done, again, test.done, test.again)
			}
		})
	}
}

// TestAdvice: only commands that can succeed are advised.
func TestAdvice(t *testing.T) {
	plain := newDefinition(func(*unstructured.Unstructured, map[string]any) {})
	for name, test := range map[string]struct {
		state state
		err   error
		back  bool
	}{
		"not removed":   {state{plain, nil, "policy"}, nil, true},
		"being removed": {state{newDeletedDefinition(), nil, "policy"}, nil, false},
		"removed":       {state{nil, nil, "policy"}, nil, false},
		"not known":     {state{}, errors.New("connection refused"), true},
	} {
		if got := adviceAt(test.state, test.err); strings.Contains(got, "import back") != test.back {
			t.Errorf("%s: %q, want it to advise to go back: %t", name, got, test.back)
		}
	}
}

// TestLeftBehind: objects that a Website controls under another name than its deploymentName are
// left behind.
func TestLeftBehind(t *testing.T) {
	w := &website.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "w", UID: "uid"}}
	w.Spec.DeploymentName = "current"
	object := func(resource, name string, uid types.UID, controlled bool) store.OwnedObject {
		return store.OwnedObject{
			Resource: resource, Namespace: "a", Name: name, Website: "w", UID: uid, Controlled: controlled,
		}
	}
	got := leftBehind([]*website.Website{w}, []store.OwnedObject{
		object("services", "former-npsvc", "uid", true), object("deployments", "former", "uid", true),
		object("services", "current-npsvc", "uid", true), object("deployments", "current", "uid", true),
		object("services", "of-the-user", "uid", true), object("configmaps", "former", "uid", true),
		object("deployments", "of-the-user", "uid", false), object("deployments", "of-another", "other", true),
	})
	if want := []string{"kubectl delete -n a deployment/former service/former-npsvc"}; !slices.Equal(got, want) {
		t.Errorf("the commands are %q, want %q", got, want)
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
			if err := test.state.checkNotReverted("policy", test.step); (err == nil) != test.want {
				t.Errorf("error %v, want it to go on: %t", err, test.want)
			}
		})
	}
}
