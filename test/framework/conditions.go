package framework

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// WaitAvailable waits until the Website reports n available replicas.
func WaitAvailable(t *testing.T, w *v1alpha1.Website, n int32) {
	t.Helper()
	websites := Admin(t).Websites.WebsiteV1alpha1().Websites(w.Namespace)
	WaitFor(t, fmt.Sprintf("Website %s has %d available replicas", w.Name, n), func(ctx context.Context) error {
		current, err := websites.Get(ctx, w.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := current.Status.AvailableReplicas; got != n {
			return fmt.Errorf("availableReplicas = %d", got)
		}
		return nil
	})
}

// WaitCondition waits for a condition of the current generation of a Website.
func WaitCondition(t *testing.T, namespace, name, kind string, status metav1.ConditionStatus,
	reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	WaitFor(t, fmt.Sprintf("Website %s is %s=%s, %s", name, kind, status, reason), func(ctx context.Context) error {
		w, err := Admin(t).Websites.WebsiteV1beta1().Websites(namespace).Get(ctx, name, metav1.GetOptions{})
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

// WaitSettled waits until the status of a Website is final: it counts all pods, and lists the
// addresses of their nodes.
func WaitSettled(t *testing.T, namespace, name string) {
	t.Helper()
	client := Admin(t)
	WaitFor(t, "nothing is left to report about Website "+name, func(ctx context.Context) error {
		w, err := client.Websites.WebsiteV1beta1().Websites(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := client.Kubernetes.CoreV1().Pods(namespace).List(ctx,
			metav1.ListOptions{LabelSelector: w.Status.Selector})
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
			w.Status.ReadyReplicas != want || w.Status.AvailableReplicas != want || len(w.Status.URLs) != urls ||
			!meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReady) ||
			!meta.IsStatusConditionFalse(w.Status.Conditions, v1beta1.WebsiteProgressing) {
			return fmt.Errorf("%d pods on %v, status = %+v", len(pods.Items), sets.List(hosts), w.Status)
		}
		return nil
	})
}

// ChildrenGone returns a check that all children of a Website called name are deleted.
func ChildrenGone(t *testing.T, namespace, name string) func(context.Context) error {
	t.Helper()
	client := Admin(t).Kubernetes
	return func(ctx context.Context) error {
		_, deployment := client.AppsV1().Deployments(namespace).Get(ctx, name+"-website", metav1.GetOptions{})
		_, service := client.CoreV1().Services(namespace).Get(ctx, name+"-website-npsvc", metav1.GetOptions{})
		for kind, err := range map[string]error{"Deployment": deployment, "Service": service} {
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s of Website %s: %v, want NotFound", kind, name, err)
			}
		}
		configMaps, err := client.CoreV1().ConfigMaps(namespace).List(ctx,
			metav1.ListOptions{LabelSelector: "controller=" + name})
		if err == nil && len(configMaps.Items) > 0 {
			err = fmt.Errorf("there are %d ConfigMaps of Website %s", len(configMaps.Items), name)
		}
		return err
	}
}

// WaitReady waits as kubectl wait --for=condition=Ready does.
func WaitReady(t *testing.T, namespace, name string) {
	t.Helper()
	websites := Admin(t).Websites.WebsiteV1beta1().Websites(namespace)
	WaitFor(t, fmt.Sprintf("Website %s is Ready", name), func(ctx context.Context) error {
		current, err := websites.Get(ctx, name, metav1.GetOptions{})
		if err == nil && !meta.IsStatusConditionTrue(current.Status.Conditions, v1beta1.WebsiteReady) {
			err = fmt.Errorf("conditions = %+v", current.Status.Conditions)
		}
		return err
	})
}
