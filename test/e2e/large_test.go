package e2e

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestTooLarge pushes more than a pod may keep, in few bytes. The kubelet evicts
// the pod, and the next one; the Website says why; the node and other sites go on,
// and the site recovers when the repository does.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	requireDisk(t, 10<<30)
	other := newSite(t)
	s := newSite(t)
	visitors := startTraffic(t, other)
	r, first := s.repository, s.repository.git(t, "rev-parse", "HEAD")
	before := s.pod(t)

	// Equal files are one object: little to push, and plenty to check out. Of
	// zeros git would make holes, which take no room.
	const size, count = 16 << 20, 150
	random := make([]byte, size)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.clone, "random"), random, 0o644); err != nil {
		t.Fatal(err)
	}
	object := r.git(t, "hash-object", "-w", "random")
	if err := os.Remove(filepath.Join(r.clone, "random")); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		r.git(t, "update-index", "--add", "--cacheinfo", fmt.Sprintf("100644,%s,random-%d", object, i))
	}
	r.push(t, "Fill the disk")
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonRepositoryTooLarge)
	r.git(t, "reset", "--quiet", "--hard", first)
	s.waitLive(t, r.release(t, "release-2", "--force"))
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	visitors.finish(t)
	node, err := kubernetesClient(t).CoreV1().Nodes().Get(t.Context(), before.Spec.NodeName, metav1.GetOptions{})
	if err != nil || len(node.Spec.Taints) > 0 {
		t.Errorf("the node has taints %v (%v), want none: it takes no pods", node.Spec.Taints, err)
	}
}

// requireDisk skips a test where the disk of the pods has too little room.
func requireDisk(t *testing.T, bytes uint64) {
	t.Helper()
	requireCluster(t)
	var disk syscall.Statfs_t
	if err := syscall.Statfs(cluster.Dir(), &disk); err != nil {
		t.Fatal(err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < bytes {
		t.Skipf("the disk of the pods has %d MiB free, and this test takes %d MiB", free>>20, bytes>>20)
	}
}
