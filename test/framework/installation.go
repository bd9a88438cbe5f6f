package framework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// SystemNamespace is the namespace of the installation.
const SystemNamespace = "website-system"

// SystemPods are the pods of a program of the installation on a real node, such as
// website-controller.
func SystemPods(ctx context.Context, client kubernetes.Interface, program string) ([]corev1.Pod, error) {
	pods, err := client.CoreV1().Pods(SystemNamespace).List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + program})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", program, err)
	}
	return pods.Items, nil
}

// StopController stops website-controller until start is called, at the latest when the test ends:
// its pods on a real node, otherwise the process beside the cluster.
func StopController(t *testing.T) (start func()) {
	t.Helper()
	process := Cluster.Process("website-controller")
	run := func(ctx context.Context) error { return ScaleController(ctx, t, 1) }
	stop := func(ctx context.Context) error { return ScaleController(ctx, t, 0) }
	if process != nil {
		run = func(ctx context.Context) error { return errors.Join(process.Start(ctx), process.WaitReady(ctx)) }
		stop = process.Stop
	}
	t.Cleanup(func() {
		if err := run(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// ScaleController scales website-controller on a real node, and waits until this number of pods is
// ready and all others are gone.
func ScaleController(ctx context.Context, t *testing.T, replicas int) error {
	t.Helper()
	_, stderr, err := Cluster.Kubectl(ctx, "scale", "deployment/website-controller", "--namespace="+SystemNamespace,
		"--replicas="+strconv.Itoa(replicas))
	if err != nil {
		return fmt.Errorf("%w: %s", err, stderr)
	}
	client := Admin(t).Kubernetes
	return Poll(ctx, pollInterval, WaitTimeout, func(ctx context.Context) error {
		pods, err := SystemPods(ctx, client, "website-controller")
		if err != nil {
			return err
		}
		ready := 0
		for _, pod := range pods {
			if PodReady(pod) && pod.DeletionTimestamp == nil {
				ready++
			}
		}
		if ready != replicas || len(pods) != replicas {
			return fmt.Errorf("%d of %d pods of website-controller are ready, want %d", ready, len(pods), replicas)
		}
		return nil
	})
}

// PodReady returns whether a pod is ready.
func PodReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
