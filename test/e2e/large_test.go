package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTooLarge pushes more than a pod may keep, in few bytes. Whether the node
// evicts the pod before or after the next commit is up to the kubelet; the node
// and other sites go on, and the site recovers when the repository does.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	other := newSite(t)
	s := newSite(t)
	visitors := startTraffic(t, other)
	r, first := s.repository, s.repository.git(t, "rev-parse", "HEAD")
	before := s.pod(t)

	// Equal files are one object: nothing to push, and plenty to check out.
	const size, count = 16 << 20, 150
	if err := os.WriteFile(filepath.Join(r.clone, "zeros"), make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	object := r.git(t, "hash-object", "-w", "zeros")
	if err := os.Remove(filepath.Join(r.clone, "zeros")); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		r.git(t, "update-index", "--add", "--cacheinfo", fmt.Sprintf("100644,%s,zeros-%d", object, i))
	}
	large := r.push(t, "Fill the disk")
	client := kubernetesClient(t)
	waitFor(t, "the pod has it, or is evicted", func(ctx context.Context) error {
		pod, err := client.CoreV1().Pods(s.namespace).Get(ctx, before.Name, metav1.GetOptions{})
		if err != nil || pod.Status.Reason == "Evicted" {
			return err
		}
		if a := adminGet(ctx, *pod, adminPort, "/commit"); a.body != large+"\n" {
			return fmt.Errorf("the pod serves %v", a)
		}
		return nil
	})
	r.git(t, "reset", "--quiet", "--hard", first)
	s.waitLive(t, r.release(t, "release-2", "--force"))
	visitors.finish(t)
	node, err := client.CoreV1().Nodes().Get(t.Context(), before.Spec.NodeName, metav1.GetOptions{})
	if err != nil || len(node.Spec.Taints) > 0 {
		t.Errorf("the node has taints %v (%v), want none: it takes no pods", node.Spec.Taints, err)
	}
}
