package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

const (
	prefix = "/registry"
	// ours is the identity of the store in these tests.
	ours = "0fd3a9e6-5f0c-4e6f-8b0c-1d1a52b5a111"
	// recorded is the host cluster's last record.
	recorded = `{"identity":"` + ours + `","nonce":"last","compactions":3}`
)

// newDataDir returns a directory with a path that is short enough for a socket.
func newDataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "backup-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// startEtcd starts an etcd with its data in dataDir, and returns a client.
func startEtcd(t *testing.T, dataDir string) (client *clientv3.Client, stop func()) {
	t.Helper()
	etcd, err := embeddedetcd.Start(t.Context(), embeddedetcd.Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	if client, err = store.NewClient(transport(t, dataDir), endpoint(t, dataDir)); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = client.Close()
		if err := etcd.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return client, stop
}

func endpoint(t *testing.T, dataDir string) string {
	t.Helper()
	url, err := embeddedetcd.Endpoint(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

func transport(t *testing.T, dataDir string) storagebackend.TransportConfig {
	t.Helper()
	return storagebackend.TransportConfig{ServerList: []string{endpoint(t, dataDir)}}
}

// put stores a value below a key for each Website.
func put(t *testing.T, client *clientv3.Client, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := client.Put(t.Context(), websiteKey(i), fmt.Sprintf("website %d", i)); err != nil {
			t.Fatal(err)
		}
	}
}

func websiteKey(i int) string { return fmt.Sprintf("%sdefault/w%d", store.WebsitesPrefix(prefix), i) }

func putRecord(t *testing.T, client *clientv3.Client) {
	t.Helper()
	if _, err := client.Put(t.Context(), store.RecordKey(prefix), recorded); err != nil {
		t.Fatal(err)
	}
}

// newSnapshot returns a snapshot of a store with five Websites, one of them deleted.
func newSnapshot(t *testing.T) (Snapshot, int64) {
	t.Helper()
	dataDir := newDataDir(t)
	client, stop := startEtcd(t, dataDir)
	defer stop()
	put(t, client, 0, 6)
	putRecord(t, client)
	deleted, err := client.Delete(t.Context(), websiteKey(5))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Snapshotter{Transport: transport(t, dataDir), Prefix: prefix}.Save(t.Context(),
		filepath.Join(t.TempDir(), "snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	return s, deleted.Header.Revision
}

// mustBeEmpty fails if dir has any file, as after a failure.
func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("%s was left", entry.Name())
	}
}

// mustName is name for an identity that is valid in a file name.
func mustName(t *testing.T, record *store.Record, taken time.Time) string {
	t.Helper()
	name, err := name(record, taken)
	if err != nil {
		t.Fatal(err)
	}
	return name
}
