package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// waitCondition waits for a condition of the current generation of a Website.
func waitCondition(t *testing.T, namespace, name, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	waitFor(t, fmt.Sprintf("Website %s is %s=%s, %s", name, kind, status, reason), func(ctx context.Context) error {
		w, err := admin(t).websites.WebsiteV1beta1().Websites(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(w.Status.Conditions, kind)
		if c == nil || c.Status != status || c.Reason != reason || c.ObservedGeneration != w.Generation {
			return fmt.Errorf("generation %d, conditions %+v", w.Generation, w.Status.Conditions)
		}
		found = *c
		return nil
	})
	return found
}

// TestPausedDeployment: a pause is somebody's decision, which is left to them, and
// the site says why it does not change.
func TestPausedDeployment(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustCreate(t, newWebsite(namespace, "kubia"))
	waitSettled(t, namespace, "kubia")
	kubectl(t, "rollout", "pause", "deployment/kubia-website", "-n", namespace)
	kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p", `{"spec":{"serving":{"fallback":"SPA"}}}`)
	for _, kind := range []string{v1beta1.WebsiteReady, v1beta1.WebsiteProgressing} {
		waitCondition(t, namespace, "kubia", kind, metav1.ConditionFalse, v1beta1.WebsiteReasonDeploymentPaused)
	}
	kubectl(t, "rollout", "resume", "deployment/kubia-website", "-n", namespace)
	waitSettled(t, namespace, "kubia")
}

// waitSettled waits until there is nothing left to report about a Website: all
// its pods are counted, and their nodes are among its addresses.
func waitSettled(t *testing.T, namespace, name string) {
	t.Helper()
	client := admin(t)
	waitFor(t, "nothing is left to report about Website "+name, func(ctx context.Context) error {
		w, err := client.websites.WebsiteV1beta1().Websites(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := client.kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: w.Status.Selector})
		if err != nil {
			return err
		}
		hosts := sets.New[string]()
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp.IsZero() {
				hosts.Insert(pod.Status.HostIP)
			}
		}
		urls := 1
		if w.Spec.Service.Type != v1beta1.ServiceTypeClusterIP {
			urls += min(3, hosts.Len())
		}
		want := *w.Spec.Replicas
		if w.Status.ObservedGeneration != w.Generation || w.Status.Replicas != want || w.Status.UpdatedReplicas != want ||
			w.Status.ReadyReplicas != want || w.Status.AvailableReplicas != want || len(w.Status.Urls) != urls ||
			!meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReady) ||
			!meta.IsStatusConditionFalse(w.Status.Conditions, v1beta1.WebsiteProgressing) {
			return fmt.Errorf("%d pods on %v, status = %+v", len(pods.Items), sets.List(hosts), w.Status)
		}
		return nil
	})
}

func TestWaitForReady(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	w := mustCreate(t, newWebsite(namespace, "kubia"))
	kubectl(t, "wait", "-n", namespace, "--for=condition=Ready", "website/kubia", "--timeout=90s")
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteAvailable, metav1.ConditionTrue, v1beta1.WebsiteReasonMinimumReplicasAvailable)
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteProgressing, metav1.ConditionFalse, v1beta1.WebsiteReasonRolloutComplete)
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteSynced, metav1.ConditionUnknown, v1beta1.WebsiteReasonNotObserved)
	waitSettled(t, namespace, "kubia")
	got, err := admin(t).websites.WebsiteV1beta1().Websites(namespace).Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Status.Urls) < 2 || !strings.HasSuffix(got.Status.Urls[0], fmt.Sprintf(":%d", got.Status.NodePort)) ||
		got.Status.Urls[len(got.Status.Urls)-1] != "http://kubia-website-npsvc."+namespace+".svc" {
		t.Errorf("urls = %q, want a node's and then that of the Service", got.Status.Urls)
	}

	kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=0")
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonScaledToZero)
}

func TestQuotaExceeded(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), newNamespace(t), admin(t)
	quota, err := client.kubernetes.CoreV1().ResourceQuotas(namespace).Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the quota counts", func(ctx context.Context) error {
		q, err := client.kubernetes.CoreV1().ResourceQuotas(namespace).Get(ctx, quota.Name, metav1.GetOptions{})
		if err == nil && q.Status.Hard == nil {
			err = fmt.Errorf("status = %+v", q.Status)
		}
		return err
	})
	w := mustCreate(t, newWebsite(namespace, "kubia", withReplicas(3)))
	refused := waitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonQuotaExceeded)
	if !strings.Contains(refused.Message, `quota "few"`) || !strings.Contains(refused.Message, "pods=1") {
		t.Errorf("message = %q, want the quota and its limit", refused.Message)
	}
	if err := client.kubernetes.CoreV1().ResourceQuotas(namespace).Delete(ctx, quota.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// What was refused is asked for again by others' backoff; a change hurries it.
	kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=2")
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
}

func TestPodDisruptionBudgetComesAndGoes(t *testing.T) {
	t.Parallel()
	namespace, client := newNamespace(t), admin(t)
	budgets := client.kubernetes.PolicyV1().PodDisruptionBudgets(namespace)
	w := mustCreate(t, newWebsite(namespace, "kubia", withReplicas(2)))
	exists := func(want bool) {
		t.Helper()
		waitFor(t, fmt.Sprintf("there is a PodDisruptionBudget: %t", want), func(ctx context.Context) error {
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
	kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=1")
	exists(false)
	kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=3")
	exists(true)
}

// TestSuspendKeepsTheCommit reports a commit in place of the observer, which
// asks nobody in a simulated cluster.
func TestSuspendKeepsTheCommit(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), newNamespace(t), admin(t)
	commit := strings.Repeat("0a", 20)
	w := mustCreate(t, newWebsite(namespace, "kubia"))
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	ref := func(ctx context.Context) (string, error) {
		d, err := client.kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return refOf(d), nil
	}
	isRef := func(want string) {
		t.Helper()
		waitFor(t, "the pods are told --ref="+want, func(ctx context.Context) error {
			if got, err := ref(ctx); err != nil || got != want {
				return fmt.Errorf("ref = %q, %w", got, err)
			}
			return nil
		})
	}
	isRef("HEAD")

	kubectl(t, "patch", "website/kubia", "-n", namespace, "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteSynced, metav1.ConditionUnknown, v1beta1.WebsiteReasonSuspending)
	// Pinned by hand, as an observed commit would be.
	kubectl(t, "patch", "website/kubia", "-n", namespace, "--type=merge", "-p", `{"spec":{"suspend":false,"source":{"ref":{"commit":"`+commit+`"}}}}`)
	isRef(commit)
	kubectl(t, "patch", "website/kubia", "-n", namespace, "--type=merge", "-p", `{"spec":{"suspend":true,"source":{"ref":null}}}`)
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteSynced, metav1.ConditionUnknown, v1beta1.WebsiteReasonSuspended)
	isRef(commit)

	// Neither scaling nor the loss of the Deployment, of which the status is the
	// only record then, makes the site move on.
	kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=2")
	waitCondition(t, namespace, w.Name, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	isRef(commit)
	before, err := client.kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, "delete", "deployment/kubia-website", "-n", namespace)
	waitFor(t, "there is another Deployment", func(ctx context.Context) error {
		d, err := client.kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
		if err == nil && d.UID == before.UID {
			err = fmt.Errorf("it is the same")
		}
		return err
	})
	isRef(commit)

	kubectl(t, "patch", "website/kubia", "-n", namespace, "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	isRef("HEAD")
}

func refOf(d *appsv1.Deployment) string {
	for _, container := range append(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers...) {
		for _, arg := range container.Args {
			if ref, found := strings.CutPrefix(arg, "--ref="); found {
				return ref
			}
		}
	}
	return ""
}

// TestOrphans leaves children behind in the two ways there are, and expects them
// to be adopted rather than fought over.
func TestOrphans(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), admin(t)
	t.Run("owner reference removed", func(t *testing.T) {
		namespace := newNamespace(t)
		w := mustCreate(t, newWebsite(namespace, "kubia"))
		waitAvailable(t, w, 1)
		deployments := client.kubernetes.AppsV1().Deployments(namespace)
		before, err := deployments.Patch(ctx, "kubia-website", types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, "the Deployment is adopted", func(ctx context.Context) error {
			d, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
			if err == nil && (d.UID != before.UID || !metav1.IsControlledBy(d, w)) {
				err = fmt.Errorf("metadata = %+v", d.ObjectMeta)
			}
			return err
		})
	})
	t.Run("deleted with --cascade=orphan", func(t *testing.T) {
		namespace := newNamespace(t)
		w := mustCreate(t, newWebsite(namespace, "kubia"))
		waitAvailable(t, w, 1)
		deployments := client.kubernetes.AppsV1().Deployments(namespace)
		before, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		kubectl(t, "delete", "website/kubia", "-n", namespace, "--cascade=orphan")
		left, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil || left.UID != before.UID || len(left.OwnerReferences) != 0 {
			t.Fatalf("Deployment = %+v, %v, want it left without an owner", left.ObjectMeta, err)
		}
		again := mustCreate(t, newWebsite(namespace, "kubia"))
		waitCondition(t, namespace, "kubia", v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
		adopted, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil || adopted.UID != before.UID || !metav1.IsControlledBy(adopted, again) {
			t.Errorf("Deployment = %+v, %v, want the same one, adopted", adopted.ObjectMeta, err)
		}
		if adopted.Generation != before.Generation {
			t.Errorf("generation = %d, was %d: the pods of an orphan have no reason to roll", adopted.Generation, before.Generation)
		}
	})
}

// TestCreateDoesNotMerge proves what the controller relies on to create a child
// and never to merge into one that somebody else has made a moment before.
func TestCreateDoesNotMerge(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), newNamespace(t), admin(t)
	configMaps := client.kubernetes.CoreV1().ConfigMaps(namespace)
	apply := func(name string) (*corev1.ConfigMap, error) {
		return configMaps.Patch(ctx, name, types.ApplyPatchType,
			[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+name+`","resourceVersion":"1"},"data":{"ours":"yes"}}`),
			metav1.PatchOptions{FieldManager: "test", Force: ptr.To(false)})
	}
	if _, err := apply("fresh"); err != nil {
		t.Errorf("where there is nothing: %v, want it created", err)
	}
	if _, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Data: map[string]string{"theirs": "yes"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := apply("theirs"); !apierrors.IsConflict(err) {
		t.Errorf("where there is something: %v, want a conflict", err)
	}
}
