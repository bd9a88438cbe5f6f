package e2e

import (
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

var largePushes = flag.Bool("large-pushes", false,
	"push a site of 200 MB ten times within ten minutes, instead of one of a tenth of that six times")

// TestPushesEvictNothing repeatedly pushes a site of a tenth of the size of its pod's
// volume: earlier releases are removed before the volume is full.
func TestPushesEvictNothing(t *testing.T) {
	t.Parallel()
	size, pushes, interval := 20_000_000, 6, time.Duration(0)
	tweaks := []func(*v1beta1.Website){withDisk("215Mi")}
	if *largePushes {
		// The volume has its default size.
		size, pushes, interval, tweaks = 200_000_000, 10, 40*time.Second, nil
	}
	requireDisk(t, 25*uint64(size))
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	for _, dir := range []string{r.clone, r.path} {
		// Compressing random bytes takes time, and saves nothing.
		r.git(t, "-C", dir, "config", "core.compression", "0")
		r.git(t, "-C", dir, "config", "core.bigFileThreshold", "10k")
	}
	push := func(i int) string {
		const files = 100
		for file := range files {
			data := make([]byte, size/files)
			if _, err := rand.Read(data); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(r.clone, fmt.Sprintf("photo-%d.jpg", file)), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r.git(t, "add", "--all", ".")
		return r.push(t, fmt.Sprintf("Push %d", i))
	}
	r.write(t, map[string]string{"index.html": "photos\n"})
	first := push(0)
	s := applySite(t, newWebsite(namespace, r, tweaks...), r)
	s.waitLive(t, first)
	before, used := s.pod(t), memory{}
	for i := range pushes {
		next := time.Now().Add(interval)
		commit := push(i + 1)
		s.syncLive(t, commit)
		used.observe(t, s)
		if i < pushes-1 {
			time.Sleep(time.Until(next))
		}
	}
	t.Logf("the most memory: %v", used)
	t.Logf("in the end: %v", adminGet(t.Context(), before, adminPort, "/status").body)
	if after := s.pod(t); after.UID != before.UID || restarts(after) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want pod %s as it was", after.Name, restarts(after), before.Name)
	}
	pods, err := framework.Admin(t).Kubernetes.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodFailed {
			t.Errorf("pod %s has failed: %s %s", pod.Name, pod.Status.Reason, pod.Status.Message)
		}
	}
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
}
