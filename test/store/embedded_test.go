package store

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

// half and all are numbers of Websites.
const (
	half = 10
	all  = 20
)

// replaceData starts website-apiserver with an empty data directory that prepare fills, checks by
// check that the server is closed, and restores the right directory.
func (e *environment) replaceData(t *testing.T, children map[types.UID]child, prepare func(data string), check func()) {
	t.Helper()
	server, dataDir := e.Process("website-apiserver"), e.WebsiteDataDir()
	mustStop(t, server)
	restore := replaceDirectory(t, dataDir)
	data := filepath.Join(dataDir, "etcd", "data")
	if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	prepare(data)
	mustStart(t, server)
	check()
	e.unharmed(t, children)
	mustStop(t, server)
	restore()
	mustStart(t, server)
	e.opens(t, all)
	e.unharmed(t, children)
}

// TestEmbeddedStoreIsReplaced gives a website-apiserver with an embedded etcd one wrong data
// directory after the other.
func TestEmbeddedStoreIsReplaced(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, devcluster.Options{})
	server, url, dataDir := e.Process("website-apiserver"), e.WebsiteAPIServerURL(), e.WebsiteDataDir()

	e.createAndReconcile(t, 0, half)
	mustStop(t, server)
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(filepath.Join(dataDir, "etcd", "data"))); err != nil {
		t.Fatal(err)
	}
	mustStart(t, server)
	e.createAndReconcile(t, half, all)
	children := e.mustHaveChildren(t)

	t.Run("empty, and a restarted garbage collector, which has cached no owners", func(t *testing.T) {
		e.replaceData(t, children, func(string) {}, func() {
			e.closed(t, server, url, "StoreEmpty", 0)
			if err := e.Process("kube-controller-manager").Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			// The garbage collector waits up to 30 seconds for its caches.
			e.closed(t, server, url, "StoreEmpty", 30*time.Second+closedTime)
		})
	})
	t.Run("older, without half of the Websites", func(t *testing.T) {
		e.replaceData(t, children, func(data string) {
			if err := os.CopyFS(data, os.DirFS(older)); err != nil {
				t.Fatal(err)
			}
		}, func() {
			e.closed(t, server, url, "StoreOutdated", 0)
			output, _ := e.storeCommand(t.Context(), server, "check")
			want := fmt.Sprintf("%d, of which %d by Websites that this store does not have", len(children),
				(all-half)*childrenOfEach)
			if !strings.Contains(output, want) {
				t.Errorf("\"store check\" printed %s, want %q", output, want)
			}
			for _, c := range children {
				if listed := strings.Contains(output, " "+c.name+" "); listed != (c.index(t) >= half) {
					t.Errorf("\"store check\" lists %s %s: %t", c.resource, c.name, listed)
				}
			}
		})
	})
	t.Run("another cluster's, with Websites of the same names", func(t *testing.T) {
		other := newEnvironment(t, devcluster.Options{WithoutController: true})
		other.create(t, 0, all)
		mustStop(t, other.Process("website-apiserver"))
		e.replaceData(t, children, func(data string) {
			if err := os.CopyFS(data, os.DirFS(filepath.Join(other.WebsiteDataDir(), "etcd", "data"))); err != nil {
				t.Fatal(err)
			}
		}, func() { e.closed(t, server, url, "StoreForeign", 0) })
	})
	t.Run("another prefix", func(t *testing.T) {
		mustStop(t, server)
		misled, otherURL, err := e.StartAPIServer(t.Context(), "apiserver-other-prefix", "--etcd-prefix=/other")
		if err != nil {
			t.Fatal(err)
		}
		if err := misled.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.route(t, otherURL)
		e.closed(t, misled, otherURL, "StoreEmpty", closedTime)
		e.unharmed(t, children)
		mustStop(t, misled)
		mustStart(t, server)
		e.route(t, url)
		e.opens(t, all)
		e.unharmed(t, children)
	})
	t.Run("older, and accepted", func(t *testing.T) {
		mustStop(t, server)
		data := filepath.Join(dataDir, "etcd", "data")
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(data, os.DirFS(older)); err != nil {
			t.Fatal(err)
		}
		mustStart(t, server)
		e.closed(t, server, url, "StoreOutdated", 0)
		output, err := e.storeCommand(t.Context(), server, "accept")
		if err != nil {
			t.Fatalf("\"store accept\" failed: %v: %s", err, output)
		}
		e.opens(t, half)
		maps.DeleteFunc(children, func(_ types.UID, c child) bool { return c.index(t) >= half })
		e.haveChildren(t, children)
		if output, err := e.storeCommand(t.Context(), server, "check"); err != nil {
			t.Errorf("\"store check\" of an accepted store: %v: %s", err, output)
		}
	})
	t.Run("the host cluster is restored, and the store accepted", func(t *testing.T) {
		configMaps := e.kube.CoreV1().ConfigMaps("website-system")
		earlier, err := configMaps.Get(t.Context(), "website-store", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		patch := []byte(`{"metadata":{"annotations":{"example.com/later":"yes"}}}`)
		if _, err := e.websites.WebsiteV1beta1().Websites(namespace).Patch(t.Context(), websiteName(0), types.MergePatchType,
			patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		mustStop(t, server) // Its start has recorded the store.
		current, err := configMaps.Get(t.Context(), "website-store", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		current.Data = earlier.Data
		if _, err := configMaps.Update(t.Context(), current, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		mustStart(t, server)
		e.closed(t, server, url, "HostOutdated", 0)
		for _, want := range []string{"servers open with it", "nothing was changed"} {
			if output, err := e.storeCommand(t.Context(), server, "accept"); err != nil || !strings.Contains(output, want) {
				t.Errorf("\"store accept\" printed %s, %v, want %q", output, err, want)
			}
		}
		e.opens(t, half)
		e.haveChildren(t, children)
	})
}
