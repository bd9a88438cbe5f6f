package api

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestPatches sends every kind of patch.
func TestPatches(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed, func(w *v1beta1.Website) {
		w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/", Name: "X-A", Value: "1"}}
	}))
	accepted := []struct {
		name  string
		kind  types.PatchType
		patch string
		check func(*v1beta1.Website) bool
	}{
		{
			name: "JSON: a test that holds, and a change", kind: types.JSONPatchType,
			patch: `[{"op":"test","path":"/spec/source/git/ref/branch","value":"live"},{"op":"replace",` +
				`"path":"/spec/source/git/ref/branch","value":"main"}]`,
			check: func(w *v1beta1.Website) bool { return w.Spec.Source.Git.Ref.Branch == "main" },
		},
		{
			name: "JSON: an item added to a list", kind: types.JSONPatchType,
			patch: `[{"op":"add","path":"/spec/serving/headers/-","value":{"path":"/","name":"X-B","value":"2"}}]`,
			check: func(w *v1beta1.Website) bool {
				return len(w.Spec.Serving.Headers) == 2 && w.Spec.Serving.Headers[1].Name == "X-B"
			},
		},
		{
			name: "merge: null removes, and the default is back", kind: types.MergePatchType,
			patch: `{"spec":{"source":{"git":{"ref":null}},"polling":null}}`,
			check: func(w *v1beta1.Website) bool {
				return w.Spec.Source.Git.Ref == nil && w.Spec.Polling.PeriodSeconds == 60
			},
		},
		{
			name: "merge: a list is replaced", kind: types.MergePatchType,
			patch: `{"spec":{"serving":{"headers":[{"path":"/","name":"X-C","value":"3"}]}}}`,
			check: func(w *v1beta1.Website) bool {
				return len(w.Spec.Serving.Headers) == 1 && w.Spec.Serving.Headers[0].Name == "X-C"
			},
		},
		{
			name: "strategic: a map is merged", kind: types.StrategicMergePatchType,
			patch: `{"metadata":{"labels":{"team":"blue"}},"spec":{"serving":{"index":"home.html"}}}`,
			check: func(w *v1beta1.Website) bool {
				return w.Labels["team"] == "blue" && w.Spec.Serving.Index == "home.html" && len(w.Spec.Serving.Headers) == 1
			},
		},
	}
	// The patches run in order, as each starts from the result of the one before.
	for _, test := range accepted {
		w, err := websites.Patch(t.Context(), "kubia", test.kind, []byte(test.patch), metav1.PatchOptions{})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if !test.check(w) {
			t.Errorf("%s: made it %+v", test.name, w.Spec)
		}
	}

	refused := map[string]struct {
		kind  types.PatchType
		patch string
		want  func(error) bool
	}{
		"JSON: a test that fails": {kind: types.JSONPatchType, patch: `[{"op":"test","path":"/spec/replicas","value":7}]`,
			want: apierrors.IsInvalid},
		"JSON: a missing path": {kind: types.JSONPatchType,
			patch: `[{"op":"remove","path":"/spec/source/git/secretRef"}]`, want: apierrors.IsInvalid},
		"JSON: not a patch": {kind: types.JSONPatchType, patch: `{"spec":{}}`, want: apierrors.IsBadRequest},
		"merge: a type": {kind: types.MergePatchType, patch: `{"spec":{"replicas":"two"}}`,
			want: apierrors.IsInvalid},
		"merge: another name": {kind: types.MergePatchType, patch: `{"metadata":{"name":"other"}}`,
			want: func(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) }},
		"merge: an outdated version": {kind: types.MergePatchType, patch: `{"metadata":{"resourceVersion":"1"}}`,
			want: apierrors.IsConflict},
		"merge: another UID": {kind: types.MergePatchType, patch: `{"metadata":{"uid":"other"}}`,
			want: apierrors.IsInvalid},
		"merge: required": {kind: types.MergePatchType, patch: `{"spec":{"source":null}}`,
			want: apierrors.IsInvalid},
		"merge: immutable": {kind: types.MergePatchType, patch: `{"spec":{"deploymentName":"other"}}`,
			want: apierrors.IsInvalid},
		"strategic: a wrong type": {kind: types.StrategicMergePatchType, patch: `{"spec":[]}`,
			want: func(err error) bool { return err != nil && !apierrors.IsInternalError(err) }},
		"of a Website that is absent": {kind: types.MergePatchType, patch: `{}`, want: apierrors.IsNotFound},
	}
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			target := "kubia"
			if strings.Contains(name, "absent") {
				target = "absent"
			}
			if _, err := websites.Patch(t.Context(), target, test.kind, []byte(test.patch),
				metav1.PatchOptions{}); !test.want(err) {
				t.Errorf("error = %v (%s)", err, apierrors.ReasonForError(err))
			}
		})
	}
}

// TestConditionsAreMergedByType patches a status as a client does that writes a single condition.
func TestConditionsAreMergedByType(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	framework.WaitAvailable(t, framework.NewV1alpha1(namespace, "kubia"), 1)

	condition := func(kind, status string) string {
		return `{"status":{"conditions":[{"type":"` + kind + `","status":"` + status +
			`","reason":"Tested","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	}
	for _, patch := range []string{condition("example.com/A", "True"), condition("example.com/B", "True"),
		condition("example.com/A", "False")} {
		if _, err := websites.Patch(t.Context(), "kubia", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{},
			"status"); err != nil {
			t.Fatal(err)
		}
	}
	w, err := websites.Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]metav1.ConditionStatus{}
	for _, c := range w.Status.Conditions {
		got[c.Type] = c.Status
	}
	if got["example.com/A"] != metav1.ConditionFalse || got["example.com/B"] != metav1.ConditionTrue {
		t.Errorf("conditions = %v, want A false and B true", got)
	}
}

// TestKubectlPatches uses kubectl's default type of patch, and kubectl diff.
func TestKubectlPatches(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.Kubectl(t, "apply", "-n", namespace, "-f", framework.Example)

	// Without --type, kubectl sends a strategic merge patch, which only compiled-in types support.
	if got := framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "-p",
		`{"spec":{"replicas":2}}`); !strings.Contains(got, "website.mycontroller.nevermosby.io/kubia patched") {
		t.Errorf("kubectl patch printed %q", got)
	}
	stdout, stderr, err := framework.Cluster.KubectlWith(t.Context(),
		framework.Stdin(manifest("kubia", validRepo, validDeployment, "replicas: 5")), "diff", "-n", namespace, "-f", "-")
	if err == nil || !strings.Contains(stdout, "-  replicas: 2\n") || !strings.Contains(stdout, "+  replicas: 5\n") ||
		strings.Contains(stdout, "gitRepo:") && strings.Contains(stdout, "-  gitRepo") {
		t.Errorf("kubectl diff ended with %v and printed\n%s%s\nwant a change of replicas from 2 to 5", err, stdout, stderr)
	}
	stderr = framework.KubectlRefused(t, "", "patch", "website", "kubia", "-n", namespace, "--type=json", "-p",
		`[{"op":"replace","path":"/spec/deploymentName","value":"x"}]`)
	if !strings.Contains(stderr, "field is immutable") {
		t.Errorf("kubectl printed %q, want that the field is immutable", stderr)
	}
}
