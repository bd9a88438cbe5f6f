package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

var failedFetches = regexp.MustCompile(`(?m)^website_agent_fetches_total\{result="error"\} ([0-9.e+]+)$`)

// syncFailed returns a check that a fetch of the site's only pod has failed.
func syncFailed(t *testing.T, s *site) func(context.Context) error {
	t.Helper()
	pod := s.pod(t)
	return func(ctx context.Context) error { return podSyncFailed(ctx, pod) }
}

// podSyncFailed returns an error until a fetch of a pod has failed.
func podSyncFailed(ctx context.Context, pod corev1.Pod) error {
	a := adminGet(ctx, pod, metricsPort, "/metrics")
	if a.err != nil || a.status != http.StatusOK {
		return fmt.Errorf("the metrics of the agent: %v", a)
	}
	count := failedFetches.FindStringSubmatch(a.body)
	if count == nil {
		return fmt.Errorf("the agent counts no failures in %q", a.body)
	}
	n, err := strconv.ParseFloat(count[1], 64)
	if err == nil && n == 0 {
		err = errors.New("no fetch has failed")
	}
	return err
}

// containers returns the statuses of all containers of a pod, including sidecars.
func containers(pod corev1.Pod) []corev1.ContainerStatus {
	return append(append([]corev1.ContainerStatus(nil), pod.Status.InitContainerStatuses...),
		pod.Status.ContainerStatuses...)
}

func restarts(pod corev1.Pod) int32 {
	var n int32
	for _, c := range containers(pod) {
		n += c.RestartCount
	}
	return n
}

// killContainer kills all processes of a container, as the kernel does when
// memory is short, and waits until the container runs again.
func killContainer(t *testing.T, s *site, pod corev1.Pod, name string) {
	t.Helper()
	status, ok := container(pod, name)
	_, id, found := strings.Cut(status.ContainerID, "://")
	if !ok || !found {
		t.Fatalf("pod %s has no container %s that runs: %+v", pod.Name, name, status)
	}
	killed := 0
	for _, pid := range framework.ContainerProcesses(t, id) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatalf("container %s has no processes", id)
	}
	client := framework.Admin(t).Kubernetes
	framework.WaitFor(t, "the container runs again", func(ctx context.Context) error {
		now, err := client.CoreV1().Pods(s.namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		after, _ := container(*now, name)
		if after.RestartCount <= status.RestartCount || after.State.Running == nil {
			return fmt.Errorf("it is %+v", after)
		}
		return nil
	})
}

func container(pod corev1.Pod, name string) (corev1.ContainerStatus, bool) {
	for _, c := range containers(pod) {
		if c.Name == name {
			return c, true
		}
	}
	return corev1.ContainerStatus{}, false
}
