package embeddedetcd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// newDataDir returns an empty directory with a path short enough for a
// socket. The path of t.TempDir contains the test's name, and is too long on
// some systems.
func newDataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "etcd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newClient(t *testing.T, dataDir string) *clientv3.Client {
	t.Helper()
	endpoint, err := Endpoint(dataDir)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestDataSurvivesARestart(t *testing.T) {
	ctx, dataDir := t.Context(), newDataDir(t)

	server, err := Start(ctx, Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t, dataDir).Put(ctx, "key", "value"); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}

	server, err = Start(ctx, Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	got, err := newClient(t, dataDir).Get(ctx, "key")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "value" {
		t.Errorf("after a restart key = %v, want value", got.Kvs)
	}
}

func TestOnlyTheOwnerCanEnter(t *testing.T) {
	dataDir := newDataDir(t)
	// The directory is a volume that another user has prepared, accessible to all.
	if err := os.MkdirAll(etcdDir(dataDir), 0o777); err != nil {
		t.Fatal(err)
	}
	server, err := Start(t.Context(), Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	info, err := os.Stat(etcdDir(dataDir))
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("mode of the socket's directory = %o, want 700", mode)
	}
	for _, listener := range server.etcd.Clients {
		if network := listener.Addr().Network(); network != "unix" {
			t.Errorf("listens on %s %s, want unix only", network, listener.Addr())
		}
	}
	if len(server.etcd.Peers) != 0 {
		t.Errorf("listens for %d peers, want none", len(server.etcd.Peers))
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	ctx, dataDir := t.Context(), newDataDir(t)
	server, err := Start(ctx, Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, err = Start(ctx, Config{DataDir: dataDir})
	if err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("second start: %v, want an error that the directory is in use", err)
	}
}

func TestPathTooLongForASocket(t *testing.T) {
	_, err := Endpoint(filepath.Join("/", strings.Repeat("a", maxSocketPath)))
	if err == nil || !strings.Contains(err.Error(), "shorter path") {
		t.Errorf("Endpoint = %v, want an error that suggests a shorter path", err)
	}
	longest := filepath.Join("/", strings.Repeat("a", maxSocketPath-len("/"+"/etcd/"+socketName)))
	if _, err := Endpoint(longest); err != nil {
		t.Errorf("Endpoint of the longest possible path: %v", err)
	}
}

func TestDataDir(t *testing.T) {
	for _, want := range []string{"/var/lib/website-apiserver", "/with space%"} {
		endpoint, err := Endpoint(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := DataDir(endpoint); got != want || !ok {
			t.Errorf("DataDir(%s) = %s, %t; want %s", endpoint, got, ok, want)
		}
	}
	for _, endpoint := range []string{"https://etcd-0:2379", "etcd-0:2379", "unix:///run/etcd.sock",
		"http:///data/etcd/etcd.sock"} {
		if got, ok := DataDir(endpoint); ok {
			t.Errorf("DataDir(%s) = %s, want none", endpoint, got)
		}
	}
}

func TestUnwritableFolder(t *testing.T) {
	file := filepath.Join(newDataDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Config{DataDir: file}); err == nil ||
		!strings.Contains(err.Error(), "creating the directory") {
		t.Errorf("Start in a file = %v, want an error about the directory", err)
	}
}

func TestWait(t *testing.T) {
	server, err := Start(t.Context(), Config{DataDir: newDataDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Wait(ended); err != nil {
		t.Errorf("Wait with an ended context = %v, want nil", err)
	}

	// An etcd that stops by itself must be detected.
	server.etcd.Server.Stop()
	if err := server.Wait(t.Context()); err == nil {
		t.Error("Wait returned nil although etcd has stopped")
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
