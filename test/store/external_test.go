package store

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestExternalEtcd replaces the etcd behind running servers, and restores it from backups. The first server is never
// restarted.
func TestExternalEtcd(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, devcluster.Options{ExternalEtcd: true})
	server := e.Process("website-apiserver")
	pid := server.PID()
	t.Run("replaced", e.replaceExternal)
	if !t.Failed() { // The Websites of the first test are restored.
		t.Run("backup", e.backUpExternal)
	}
	if server.PID() != pid {
		t.Error("website-apiserver was restarted")
	}
}

// replaceExternal replaces the etcd behind two servers by an empty one, and by an older copy of itself.
func (e *environment) replaceExternal(t *testing.T) {
	server, url, etcd := e.Process("website-apiserver"), e.WebsiteAPIServerURL(), e.Process("website-etcd")
	second, secondURL, err := e.StartAPIServer(t.Context(), "second-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	dataDir := e.WebsiteEtcdDataDir()
	// On SIGTERM, etcd would wait for the watches of its clients.
	stop := func() {
		t.Helper()
		if err := etcd.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	e.createAndReconcile(t, 0, half)
	stop()
	older := t.TempDir() + "/older"
	if err := os.CopyFS(older, os.DirFS(dataDir)); err != nil {
		t.Fatal(err)
	}
	mustStart(t, etcd)
	e.opens(t, half)
	e.createAndReconcile(t, half, all)
	children := e.mustHaveChildren(t)
	secondPID := second.PID()

	tests := []struct {
		name, reason string
		prepare      func() error
		duration     time.Duration
	}{
		{"empty", "StoreEmpty", func() error { return nil }, 0},
		{"older, without half of the Websites", "StoreOutdated",
			func() error { return os.CopyFS(dataDir, os.DirFS(older)) }, closedTime},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			finish := e.observe(t, e.config.Host, all)
			finishSecond := e.observe(t, secondURL, all)
			stop()
			restore := replaceDirectory(t, dataDir)
			if err := test.prepare(); err != nil {
				t.Fatal(err)
			}
			mustStart(t, etcd)
			e.closed(t, server, url, test.reason, test.duration)
			e.unharmed(t, children)

			stop()
			restore()
			mustStart(t, etcd)
			e.opens(t, all)
			e.unharmed(t, children)
			finish()
			finishSecond()
		})
	}
	if second.PID() != secondPID {
		t.Error("the second server was restarted")
	}
	mustStop(t, second)
}

// observe watches and lists Websites at a server until the returned function is called. No Website
// may be reported as deleted, and every list must be complete.
func (e *environment) observe(t *testing.T, host string, count int) (finish func()) {
	t.Helper()
	client := e.limited(t, host)
	// A server opens up to a second after another one of the same store.
	framework.WaitFor(t, "the server is open", func(ctx context.Context) error {
		_, err := client.List(ctx, metav1.ListOptions{})
		return err
	})
	ctx, cancel := context.WithCancel(t.Context())
	var observers sync.WaitGroup
	observers.Go(func() {
		for ctx.Err() == nil {
			for _, version := range []string{"", "0"} {
				list, err := client.List(ctx, metav1.ListOptions{ResourceVersion: version})
				switch {
				case err == nil && len(list.Items) != count:
					t.Errorf("a list at resourceVersion %q has %d Websites, want %d", version, len(list.Items), count)
				case apierrors.IsNotFound(err):
					t.Errorf("a list answered %v", err)
				}
			}
			if _, err := client.Get(ctx, websiteName(all-1), metav1.GetOptions{}); apierrors.IsNotFound(err) {
				t.Errorf("a get answered %v", err)
			}
		}
	})
	observers.Go(func() {
		for ctx.Err() == nil {
			w, err := client.Watch(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for event := range w.ResultChan() {
				if event.Type == watch.Deleted {
					t.Errorf("a watch reported as deleted: %v", event.Object)
				}
			}
		}
	})
	return func() {
		cancel()
		observers.Wait()
	}
}
