package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestFullDisk fills the disk of the embedded etcd during writes. Acknowledged Websites are kept
// across a restart, the others were rejected with 507, and writes succeed once space is freed. A
// server that starts on a full disk serves everything but Websites until then.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dataDir := smallDisk(t, "400m")
	s := framework.NewServer(t, "--data-dir="+dataDir)
	namespace := framework.NewNamespace(t)
	websites := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1alpha1().Websites(namespace)

	var acknowledged []string
	create := func(ctx context.Context, name string) error {
		_, err := websites.Create(ctx, framework.NewV1alpha1(namespace, name), metav1.CreateOptions{})
		if err == nil {
			acknowledged = append(acknowledged, name)
		}
		return err
	}
	if err := create(t.Context(), "before"); err != nil {
		t.Fatal(err)
	}

	filler := filepath.Join(dataDir, "filler")
	var refused error
	for i := 0; refused == nil && i < 400; i++ {
		fill(t, filler, 4<<20)
		refused = create(t.Context(), fmt.Sprintf("meanwhile-%d", i))
	}
	fill(t, filler, 400<<20)
	for i := range 20 {
		refused = create(t.Context(), fmt.Sprintf("full-%d", i))
		var status apierrors.APIStatus
		if !errors.As(refused, &status) || status.Status().Code != http.StatusInsufficientStorage {
			t.Fatalf("creating a Website on a full disk = %v, want 507", refused)
		}
	}
	if err := websites.Delete(t.Context(), "before", metav1.DeleteOptions{}); err == nil {
		t.Error("a deletion that cannot be stored was acknowledged")
	}
	if _, err := websites.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("reading on a full disk: %v", err)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "Websites can be stored again", func(ctx context.Context) error { return create(ctx, "after") })
	for _, reason := range []string{"StoreFull", "StoreWritable"} {
		waitStoreEvent(t, s, reason)
	}
	if !s.Running() {
		t.Fatalf("the server has ended:\n%s", s.Log(t))
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.WaitOpen(t)
	for _, name := range acknowledged {
		if _, err := websites.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("reading an acknowledged Website after a restart: %v", err)
		}
	}

	fill(t, filler, 400<<20)
	if err := s.Restart(t.Context()); err != nil {
		t.Fatalf("restarting on a full disk: %v", err)
	}
	servesAllButWebsites(t, s.URL, "MiB free")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.WaitOpen(t)
}

// waitStoreEvent waits for an event about the store of a server.
func waitStoreEvent(t *testing.T, s *framework.Server, reason string) {
	t.Helper()
	namespace := flagValue(t, s.Args(), "--store-record-namespace")
	framework.WaitFor(t, "the event "+reason+" is recorded", func(ctx context.Context) error {
		events, err := framework.Admin(t).Kubernetes.EventsV1().Events(namespace).List(ctx,
			metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err == nil && len(events.Items) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
}

// smallDisk mounts a file system of this size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system takes root")
	}
	// The path is short, as it contains a Unix socket.
	dir, err := os.MkdirTemp("/tmp", "disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs",
		dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), "umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmounting %s: %v: %s", dir, err, out)
		}
	})
	return dir
}

// fill grows a file until the disk is full.
func fill(t *testing.T, path string, bytes int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(make([]byte, bytes)); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
