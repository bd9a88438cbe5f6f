package controller

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestHealthOfHosts: Helm and Flux wait while another controller must route a host, and fail at
// once if another Website has claimed it.
func TestHealthOfHosts(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	host := "shop." + namespace + ".example.test"
	first := framework.MustCreate(t, framework.NewWebsite(namespace, "first", withHosts(host)))
	framework.WaitReady(t, namespace, first.Name)
	waitHealth(t, first, kstatus.InProgressStatus)
	framework.WaitCondition(t, namespace, first.Name, v1beta1.WebsiteReconciling, metav1.ConditionTrue,
		v1beta1.WebsiteReasonRoutePending)

	second := framework.MustCreate(t, framework.NewWebsite(namespace, "second", withHosts(host)))
	waitHealth(t, second, kstatus.FailedStatus)
	for _, kind := range []string{v1beta1.WebsiteStalled, v1beta1.WebsiteRouted, v1beta1.WebsiteReady} {
		want := metav1.ConditionFalse
		if kind == v1beta1.WebsiteStalled {
			want = metav1.ConditionTrue
		}
		framework.WaitCondition(t, namespace, second.Name, kind, want, v1beta1.WebsiteReasonHostTaken)
	}
	framework.WaitCondition(t, namespace, second.Name, v1beta1.WebsiteAvailable, metav1.ConditionTrue,
		v1beta1.WebsiteReasonMinimumReplicasAvailable)

	framework.Kubectl(t, "patch", "website", second.Name, "-n", namespace, "--type=merge", "-p", `{"spec":{"hosts":null}}`)
	waitHealth(t, second, kstatus.CurrentStatus)
	framework.WaitCondition(t, namespace, second.Name, v1beta1.WebsiteReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonServing)
}

// waitHealth waits until kstatus reports the wanted status of a Website.
func waitHealth(t *testing.T, website *v1beta1.Website, want kstatus.Status) {
	t.Helper()
	framework.WaitFor(t, fmt.Sprintf("Website %s is %s", website.Name, want), func(ctx context.Context) error {
		current, err := framework.Websites(t, website.Namespace).Get(ctx, website.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(current)
		if err != nil {
			return err
		}
		result, err := kstatus.Compute(&unstructured.Unstructured{Object: content})
		if err == nil && result.Status != want {
			err = fmt.Errorf("it is %s: %s", result.Status, result.Message)
		}
		return err
	})
}
