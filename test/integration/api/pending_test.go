package api

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestWebsiteIsPendingUntilReported creates and changes a Website on a server without a controller:
// clients must not treat either as ready.
func TestWebsiteIsPendingUntilReported(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), framework.NewServer(t)
	config := s.Config(t)
	websites := framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(metav1.NamespaceDefault)
	kubeconfig := "--kubeconfig=" + framework.WriteKubeconfig(t, config)
	wantInProgress := func(w *v1beta1.Website) {
		t.Helper()
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w)
		if err != nil {
			t.Fatal(err)
		}
		result, err := status.Compute(&unstructured.Unstructured{Object: content})
		if err != nil {
			t.Fatal(err)
		}
		if result.Status != status.InProgressStatus {
			t.Errorf("kstatus = %s (%s), want InProgress", result.Status, result.Message)
		}
		if stderr := framework.KubectlRefused(t, "", kubeconfig, "wait", "--for=condition=Ready", "website/kubia",
			"--timeout=1s"); !strings.Contains(stderr, "timed out") {
			t.Errorf("kubectl wait printed %q, want that it timed out", stderr)
		}
	}
	reported := v1beta1.WebsiteStatus{ObservedGeneration: 1, AvailableReplicas: 1, Conditions: []metav1.Condition{{
		Type: v1beta1.WebsiteReady, Status: metav1.ConditionTrue, Reason: v1beta1.WebsiteReasonServing, ObservedGeneration: 1,
		LastTransitionTime: metav1.Now(),
	}}}

	w, err := websites.Create(ctx, framework.NewWebsite(metav1.NamespaceDefault, "kubia",
		func(w *v1beta1.Website) { w.Status = reported }), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(w.Status.Conditions, v1beta1.WebsiteReady)
	if len(w.Status.Conditions) != 1 || ready == nil || ready.Status != metav1.ConditionUnknown ||
		ready.Reason != v1beta1.WebsiteReasonPending ||
		w.Status.ObservedGeneration != 0 || w.Status.AvailableReplicas != 0 ||
		!ready.LastTransitionTime.Equal(&w.CreationTimestamp) {
		t.Errorf("status on creation = %+v, want Ready Unknown since the creation, with reason Pending, and nothing else",
			w.Status)
	}
	wantInProgress(w)

	w.Status = reported
	if w, err = websites.UpdateStatus(ctx, w, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.Kubectl(t, kubeconfig, "wait", "--for=condition=Ready", "website/kubia", "--timeout=90s")
	w.Spec.Polling.PeriodSeconds = 30
	if w, err = websites.Update(ctx, w, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	wantInProgress(w)
}
