package wait

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// inVain is the timeout of a client that is expected to wait in vain.
const inVain = 2 * time.Second

// TestClientsWait stops the controller: no client regards a new or changed Website
// as ready before the controller has reported it.
func TestClientsWait(t *testing.T) {
	namespace := framework.NewNamespace(t)
	controller := framework.Cluster.Process("website-controller")
	stop := func() {
		t.Helper()
		if err := controller.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	start := func() {
		t.Helper()
		// The test's own context may have ended.
		if err := controller.Restart(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if !controller.Running() {
			start()
		}
	})

	stop()
	website := framework.MustCreate(t, framework.NewWebsite(namespace, "site"))
	waitWithAll(t, "new", website, inVain, errTimedOut)
	start()
	waitWithAll(t, "reported", website, framework.WaitTimeout, nil)

	stop()
	framework.Kubectl(t, "patch", "website", "site", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"serving":{"fallback":"SPA"}}}`)
	waitWithAll(t, "changed", website, inVain, errTimedOut)
	start()
	waitWithAll(t, "reported again", website, framework.WaitTimeout, nil)
}

// TestClientsFail: a Website that its user must correct is a failure at once,
// until it is corrected.
func TestClientsFail(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	deployments := framework.Admin(t).Kubernetes.AppsV1().Deployments(namespace)
	labels := map[string]string{"app": "other"}
	other := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "site"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "other"}}},
		}},
	}
	if _, err := deployments.Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	website := framework.MustCreate(t, framework.NewWebsite(namespace, "site"))
	framework.WaitCondition(t, namespace, "site", v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonNameTaken)
	waitWithAll(t, "name taken", website, framework.WaitTimeout, errFailed)

	if err := deployments.Delete(t.Context(), "site", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitCondition(t, namespace, "site", v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	waitWithAll(t, "name free", website, framework.WaitTimeout, nil)
}

// waitWithAll runs all clients at once, and compares their errors with want.
func waitWithAll(t *testing.T, when string, website *v1beta1.Website, timeout time.Duration, want error) {
	t.Helper()
	t.Run(when, func(t *testing.T) {
		for name, waitWith := range clients {
			if name == "kubectl" && errors.Is(want, errFailed) {
				continue // kubectl waits for one condition, and cannot detect failures.
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if err := waitWith(t, website, timeout); !errors.Is(err, want) {
					t.Errorf("waiting returned %v, want %v; the status is %v", err, want, get(t, website).Object["status"])
				}
			})
		}
	})
}
