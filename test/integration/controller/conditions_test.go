package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestPausedDeployment: the controller keeps a user's pause, and a condition explains why the site
// does not change.
func TestPausedDeployment(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitSettled(t, namespace, "kubia")
	framework.Kubectl(t, "rollout", "pause", "deployment/kubia-website", "-n", namespace)
	framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"serving":{"fallback":"SPA"}}}`)
	for _, kind := range []string{v1beta1.WebsiteReady, v1beta1.WebsiteProgressing} {
		framework.WaitCondition(t, namespace, "kubia", kind, metav1.ConditionFalse, v1beta1.WebsiteReasonDeploymentPaused)
	}
	framework.Kubectl(t, "rollout", "resume", "deployment/kubia-website", "-n", namespace)
	framework.WaitSettled(t, namespace, "kubia")
}

func TestWaitForReady(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.Kubectl(t, "wait", "-n", namespace, "--for=condition=Ready", "website/kubia", "--timeout=90s")
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteAvailable, metav1.ConditionTrue,
		v1beta1.WebsiteReasonMinimumReplicasAvailable)
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteProgressing, metav1.ConditionFalse,
		v1beta1.WebsiteReasonRolloutComplete)
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteSynced, metav1.ConditionUnknown,
		v1beta1.WebsiteReasonNotObserved)
	framework.WaitSettled(t, namespace, "kubia")
	got, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace).Get(t.Context(), "kubia",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Status.URLs) < 2 || !strings.HasSuffix(got.Status.URLs[0], fmt.Sprintf(":%d", got.Status.NodePort)) ||
		got.Status.URLs[len(got.Status.URLs)-1] != "http://kubia-website-npsvc."+namespace+".svc" {
		t.Errorf("urls = %q, want a node's and then the Service's", got.Status.URLs)
	}

	framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=0")
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonScaledToZero)
}

func TestQuotaExceeded(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	quota := framework.StartQuota(t, namespace, "few", corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")})
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(3)))
	refused := framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonQuotaExceeded)
	if !strings.Contains(refused.Message, `quota "few"`) || !strings.Contains(refused.Message, "pods=1") {
		t.Errorf("message = %q, want the quota and its limit", refused.Message)
	}
	if err := client.Kubernetes.CoreV1().ResourceQuotas(namespace).Delete(ctx, quota.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The rejected request is retried with its Website's backoff; a change resets that.
	framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=2")
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
}

func TestPodDisruptionBudgetComesAndGoes(t *testing.T) {
	t.Parallel()
	namespace, client := framework.NewNamespace(t), framework.Admin(t)
	budgets := client.Kubernetes.PolicyV1().PodDisruptionBudgets(namespace)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(2)))
	exists := func(want bool) {
		t.Helper()
		framework.WaitFor(t, fmt.Sprintf("there is a PodDisruptionBudget: %t", want), func(ctx context.Context) error {
			budget, err := budgets.Get(ctx, "kubia-website", metav1.GetOptions{})
			switch {
			case want && err == nil:
				if budget.Spec.MaxUnavailable.IntValue() != 1 || !metav1.IsControlledBy(budget, w) {
					return fmt.Errorf("budget = %+v", budget)
				}
				return nil
			case !want && apierrors.IsNotFound(err):
				return nil
			default:
				return fmt.Errorf("get: %w", err)
			}
		})
	}
	exists(true)
	framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=1")
	exists(false)
	framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=3")
	exists(true)
}

// TestSuspendKeepsTheCommit reports a commit in place of the controller, which probes no pods in a
// simulated cluster.
func TestSuspendKeepsTheCommit(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	commit := strings.Repeat("0a", 20)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	patch := func(subresource, patch string) {
		t.Helper()
		framework.Kubectl(t, "patch", "website/kubia", "-n", namespace, "--subresource="+subresource,
			"--type=merge", "-p", patch)
	}
	isPinnedTo := func(want string) {
		t.Helper()
		framework.WaitFor(t, "agents are to serve "+want, func(context.Context) error {
			got := framework.Kubectl(t, "get", "configmap/kubia-website-agent", "--ignore-not-found",
				"-n", namespace, "-o", `jsonpath={.data.pin\.json}`)
			if want == "" && got == "" {
				return nil
			}
			if want == "" || !strings.Contains(got, fmt.Sprintf(`{"commit":%q,`, want)) {
				return errors.New(got)
			}
			return nil
		})
	}
	isPinnedTo("")
	generation := deploymentGeneration(t, namespace)
	patch("", `{"spec":{"suspend":true}}`)
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteSynced, metav1.ConditionUnknown,
		v1beta1.WebsiteReasonSuspendedWithoutCommit)
	isPinnedTo(requests.PinCurrent)
	patch("", `{"spec":{"suspend":false}}`)
	isPinnedTo("")

	patch("status", `{"status":{"history":[{"commit":"`+commit+`","cause":"Poll",`+
		`"publishedTime":"2026-01-01T00:00:00Z"}]}}`)
	patch("", `{"spec":{"suspend":true}}`)
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteSynced, metav1.ConditionUnknown,
		v1beta1.WebsiteReasonSuspended)
	isPinnedTo(commit)
	if got := deploymentGeneration(t, namespace); got != generation {
		t.Errorf("the Deployment has generation %s, had %s: pods are replaced", got, generation)
	}

	// Neither scaling nor the loss of the Deployment or of the status changes the served commit.
	patch("status", `{"status":{"history":null}}`)
	framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=2")
	framework.WaitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	isPinnedTo(commit)
	deleteAndWaitRecreated(t, namespace, "deployment/kubia-website")
	isPinnedTo(commit)

	patch("", `{"spec":{"suspend":false}}`)
	isPinnedTo("")
}

func deploymentGeneration(t *testing.T, namespace string) string {
	t.Helper()
	return framework.Kubectl(t, "get", "deployment/kubia-website", "-n", namespace, "-o",
		"jsonpath={.metadata.generation}")
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), framework.Admin(t)
	t.Run("owner reference removed", func(t *testing.T) {
		namespace := framework.NewNamespace(t)
		w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
		framework.WaitAvailable(t, w, 1)
		deployments := client.Kubernetes.AppsV1().Deployments(namespace)
		before, err := deployments.Patch(ctx, "kubia-website", types.MergePatchType,
			[]byte(`{"metadata":{"ownerReferences":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		framework.WaitFor(t, "the Deployment is adopted", func(ctx context.Context) error {
			d, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
			if err == nil && (d.UID != before.UID || !metav1.IsControlledBy(d, w)) {
				err = fmt.Errorf("metadata = %+v", d.ObjectMeta)
			}
			return err
		})
	})
	t.Run("deleted with --cascade=orphan", func(t *testing.T) {
		namespace := framework.NewNamespace(t)
		w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
		framework.WaitAvailable(t, w, 1)
		deployments := client.Kubernetes.AppsV1().Deployments(namespace)
		before, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		framework.Kubectl(t, "delete", "website/kubia", "-n", namespace, "--cascade=orphan")
		left, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil || left.UID != before.UID || len(left.OwnerReferences) != 0 {
			t.Fatalf("Deployment = %+v, %v, want it left without an owner", left.ObjectMeta, err)
		}
		again := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
		framework.WaitCondition(t, namespace, "kubia", v1beta1.WebsiteReady, metav1.ConditionTrue,
			v1beta1.WebsiteReasonServing)
		adopted, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil || adopted.UID != before.UID || !metav1.IsControlledBy(adopted, again) {
			t.Errorf("Deployment = %+v, %v, want the same one, adopted", adopted.ObjectMeta, err)
		}
		if adopted.Generation != before.Generation {
			t.Errorf("generation = %d, was %d: the pods of an orphan have no reason to roll", adopted.Generation,
				before.Generation)
		}
	})
}

// TestCreateDoesNotMerge proves that the API server rejects the controller's creation of a child
// that another client has created just before, and never merges the two.
func TestCreateDoesNotMerge(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	configMaps := client.Kubernetes.CoreV1().ConfigMaps(namespace)
	apply := func(name string) (*corev1.ConfigMap, error) {
		return configMaps.Patch(ctx, name, types.ApplyPatchType,
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`","resourceVersion":"1"},`+
				`"data":{"ours":"yes"}}`),
			metav1.PatchOptions{FieldManager: "test", Force: ptr.To(false)})
	}
	if _, err := apply("fresh"); err != nil {
		t.Errorf("where there is nothing: %v, want it created", err)
	}
	if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs"},
		Data: map[string]string{"theirs": "yes"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := apply("theirs"); !apierrors.IsConflict(err) {
		t.Errorf("where there is something: %v, want a conflict", err)
	}
}
