package store

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

// half and all are numbers of Websites.
const (
	half = 25
	all  = 50
)

// TestEmbeddedStoreIsReplaced gives a website-apiserver with an embedded etcd one
// wrong data directory after the other, under 50 Websites.
func TestEmbeddedStoreIsReplaced(t *testing.T) {
	t.Parallel()
	e := newEnvironment(t, devcluster.Options{})
	server, url, dataDir := e.Process("website-apiserver"), e.WebsiteAPIServerURL(), e.WebsiteDataDir()
	stop := func() {
		t.Helper()
		if err := server.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	e.create(t, 0, half)
	stop()
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(filepath.Join(dataDir, "etcd", "data"))); err != nil {
		t.Fatal(err)
	}
	mustStart(t, server)
	e.create(t, half, all)
	children := e.mustHaveChildren(t)

	// replace has the server started with what prepare makes of an empty data
	// directory, checks that it is closed, and brings the right one back.
	replace := func(t *testing.T, prepare func(data string), check func()) {
		t.Helper()
		stop()
		right := dataDir + "-right"
		if err := os.Rename(dataDir, right); err != nil {
			t.Fatal(err)
		}
		data := filepath.Join(dataDir, "etcd", "data")
		if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
			t.Fatal(err)
		}
		prepare(data)
		mustStart(t, server)
		check()
		e.unharmed(t, children)
		stop()
		if err := os.RemoveAll(dataDir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(right, dataDir); err != nil {
			t.Fatal(err)
		}
		mustStart(t, server)
		e.opens(t, all)
		e.unharmed(t, children)
	}

	t.Run("empty, while kube-controller-manager is restarted", func(t *testing.T) {
		manager := e.Process("kube-controller-manager")
		replace(t, func(string) {}, func() {
			e.closed(t, server, url, "StoreEmpty", longClosedTime, func() {
				if err := manager.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := manager.WaitReady(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	})
	t.Run("older, without half of the Websites", func(t *testing.T) {
		replace(t, func(data string) {
			if err := os.CopyFS(data, os.DirFS(older)); err != nil {
				t.Fatal(err)
			}
		}, func() {
			e.closed(t, server, url, "StoreOutdated", closedTime, nil)
			output, _ := e.storeCommand(t.Context(), server, "check")
			want := fmt.Sprintf("%d, of which %d by Websites that this store does not have", len(children), (all-half)*childrenOfEach)
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
		for i := range all {
			if _, err := other.websites.WebsiteV1beta1().Websites(namespace).Create(t.Context(), newWebsite(websiteName(i)), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := other.Process("website-apiserver").Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		replace(t, func(data string) {
			if err := os.CopyFS(data, os.DirFS(filepath.Join(other.WebsiteDataDir(), "etcd", "data"))); err != nil {
				t.Fatal(err)
			}
		}, func() { e.closed(t, server, url, "StoreForeign", closedTime, nil) })
	})
	t.Run("another prefix", func(t *testing.T) {
		stop()
		misled, otherURL, err := e.StartAPIServer(t.Context(), "apiserver-other-prefix", "--etcd-prefix=/other")
		if err != nil {
			t.Fatal(err)
		}
		if err := misled.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.route(t, otherURL)
		e.closed(t, misled, otherURL, "StoreEmpty", closedTime, nil)
		e.unharmed(t, children)
		if err := misled.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustStart(t, server)
		e.route(t, url)
		e.opens(t, all)
		e.unharmed(t, children)
	})
	t.Run("older, and accepted", func(t *testing.T) {
		stop()
		data := filepath.Join(dataDir, "etcd", "data")
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(data, os.DirFS(older)); err != nil {
			t.Fatal(err)
		}
		mustStart(t, server)
		e.closed(t, server, url, "StoreOutdated", 0, nil)
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
}
