package outage

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

// ballast is the file that fills the disk of etcd beside its own files.
const ballast = "ballast"

// moveToSmallDisk gives etcd a file system of its own until the test ends.
func moveToSmallDisk(t *testing.T, etcd *devcluster.Process) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system takes root")
	}
	dir := framework.Cluster.WebsiteEtcdDataDir()
	if err := etcd.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := etcd.Start(context.Background()); err != nil && !etcd.Running() {
			t.Error(err)
		}
	})
	before := dir + ".before"
	if err := os.Rename(dir, before); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=400m,mode=700", "tmpfs",
		dir).CombinedOutput(); err != nil {
		err = errors.Join(err, os.Remove(dir), os.Rename(before, dir))
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		after := dir + ".after"
		err := errors.Join(etcd.Stop(context.Background()), os.CopyFS(after, os.DirFS(dir)),
			exec.CommandContext(context.Background(), "umount", dir).Run(), os.RemoveAll(dir), os.Rename(after, dir))
		if err != nil {
			t.Error(err)
		}
	})
	if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(before); err != nil {
		t.Fatal(err)
	}
	if err := etcd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := etcd.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	opens(t, framework.Cluster.WebsiteAPIServerURL())
}

// fillDisk fills the disk of etcd, and writes to it until it ends.
func fillDisk(t *testing.T, etcd *devcluster.Process) {
	t.Helper()
	file, err := os.Create(filepath.Join(framework.Cluster.WebsiteEtcdDataDir(), ballast))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	url, config, err := framework.Cluster.WebsiteEtcd()
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, TLS: config})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// The current file of etcd is allocated already.
	ctx, cancel := context.WithTimeout(t.Context(), framework.WaitTimeout)
	defer cancel()
	for err = nil; err == nil && etcd.Running(); {
		_, err = client.Put(ctx, "/"+ballast, strings.Repeat("x", 1<<20))
	}
	exit, err := etcd.Wait(ctx)
	if err != nil || exit.Code == 0 {
		t.Fatalf("etcd on a full disk: %+v, %v; want that it ends", exit, err)
	}
}

func emptyDisk(t *testing.T, etcd *devcluster.Process) {
	t.Helper()
	if err := os.Remove(filepath.Join(framework.Cluster.WebsiteEtcdDataDir(), ballast)); err != nil {
		t.Fatal(err)
	}
	if err := etcd.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}
