package e2e

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestTooLarge pushes a commit that compresses well and exceeds the pod's limit. It is
// rejected before it is checked out: the previous release stays online, no pod is evicted,
// the Website reports the reason, and the next commit that fits is published.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	requireDisk(t, 2<<30)
	s := newSite(t, withDisk("256Mi"))
	visitors := startTraffic(t, s)
	r, first := s.repository, s.repository.git(t, "rev-parse", "HEAD")
	before := s.pod(t)

	// Equal files are one object: little to push, and plenty to check out. git
	// would store zeros as holes, which take no disk space.
	const size, count = 16 << 20, 24
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
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionFalse, v1beta1.WebsiteReasonRepositoryTooLarge)
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	s.waitLive(t, first)
	r.git(t, "reset", "--quiet", "--hard", first)
	s.syncLive(t, r.release(t, "release-2", "--force"))
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionTrue, v1beta1.WebsiteReasonCommitPublished)
	visitors.finish(t)
	if after := s.pod(t); after.UID != before.UID || restarts(after) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want pod %s as it was", after.Name, restarts(after), before.Name)
	}
}

// TestLargeFile publishes a file that is larger than git's memory limit, as git streams it.
// git would hold a converted file in memory, so conversion must be off.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	requireDisk(t, 4<<30)
	s := newSite(t, func(w *v1beta1.Website) { w.Spec.Polling.TimeoutSeconds = 600 })
	r, before := s.repository, s.pod(t)

	// A repeated random block takes as much memory as random content, and less
	// time to pack.
	const size, part = 400 << 20, 16 << 10
	random := make([]byte, part)
	if _, err := rand.Read(random); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(r.clone, "film.bin"))
	if err != nil {
		t.Fatal(err)
	}
	for range size / part {
		if _, err := file.Write(random); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.clone, ".gitattributes"), []byte("* text=auto\n*.bin -text\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	r.git(t, "-c", "core.bigFileThreshold=1m", "add", ".")
	s.waitLive(t, r.push(t, "Add a film"))

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(t)+"/film.bin", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=-%d", part))
	response, err := visitor.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	end, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("bytes %d-%d/%d", size-part, size-1, size); response.Header.Get("Content-Range") != want ||
		!bytes.Equal(end, random) {
		t.Errorf("the end of the file is %d %s, %d bytes, want %s as it was pushed", response.StatusCode,
			response.Header.Get("Content-Range"), len(end), want)
	}
	if after := s.pod(t); after.UID != before.UID || restarts(after) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want pod %s as it was", after.Name, restarts(after), before.Name)
	}
	// A killed git counts as a failed fetch.
	if a := adminGet(t.Context(), before, metricsPort, "/metrics"); a.err != nil ||
		podSyncFailed(t.Context(), before) == nil {
		t.Errorf("at least one fetch of the file has failed: %v", a)
	}
}

// requireDisk skips a test if the disk of the pods has too little space.
func requireDisk(t *testing.T, bytes uint64) {
	t.Helper()
	framework.RequireCluster(t)
	var disk syscall.Statfs_t
	if err := syscall.Statfs(framework.Cluster.Dir(), &disk); err != nil {
		t.Fatal(err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < bytes {
		t.Skipf("the disk of the pods has %d MiB free, and this test takes %d MiB", free>>20, bytes>>20)
	}
}
