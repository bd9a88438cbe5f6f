package app

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apiserver/backup"
	"github.com/kubesites/website-apiserver/pkg/apiserver/options"
	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// smallDisk mounts a tmpfs of the given size at dir.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a small file system takes root")
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs",
		dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), "umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmounting %s: %v: %s", dir, err, out)
		}
	})
}

func websitesIn(t *testing.T, dataDir string) *backup.Websites {
	t.Helper()
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	o.DataDir = dataDir
	completed, err := o.Complete()
	if err != nil {
		t.Fatal(err)
	}
	websites, err := storedWebsites(completed)
	if err != nil {
		t.Fatal(err)
	}
	return websites
}

// TestFullStore imports into a store without free space. The import must fail, and must not make the
// etcd of the running server fail.
func TestFullStore(t *testing.T) {
	dataDir, err := os.MkdirTemp("/tmp", "backup-") // The path of a Unix socket must be short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dataDir) })
	smallDisk(t, dataDir, "400m")
	client := startStore(t, dataDir)
	websites := websitesIn(t, dataDir)
	decoded, err := websites.Decode(t.Context(), []byte(strings.TrimPrefix(document("a", "uid-a"), "---\n")))
	if err != nil {
		t.Fatal(err)
	}

	// mustFail checks that an import and a copy fail with the error want, and write nothing.
	mustFail := func(t *testing.T, want string) {
		t.Helper()
		fails(t, []string{"import", writeFile(t, documents(2)), "--data-dir=" + dataDir}, want)
		if _, err := websites.Copy(t.Context(), "a source", []*website.Website{decoded}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("Copy = %v, want an error with %q", err, want)
		}
		if got, err := client.Get(t.Context(), store.WebsitesPrefix("/registry"), clientv3.WithPrefix()); err != nil ||
			len(got.Kvs) > 0 {
			t.Errorf("the store has %v, %v", got, err)
		}
	}
	t.Run("disk", func(t *testing.T) {
		filler := filepath.Join(dataDir, "filler")
		if err := os.WriteFile(filler, make([]byte, 200<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		mustFail(t, "MiB are needed")
		fails(t, []string{"export", filepath.Join(dataDir, "export"), "--data-dir=" + dataDir}, "MiB are needed")
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(dataDir); err != nil || len(entries) != 1 {
			t.Errorf("the directory has %v, %v, want etcd's", entries, err)
		}
	})
	t.Run("quota", func(t *testing.T) {
		if _, err := etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(),
			&etcdserverpb.AlarmRequest{
				Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: 1, Alarm: etcdserverpb.AlarmType_NOSPACE,
			}); err != nil {
			t.Fatal(err)
		}
		mustFail(t, "--embedded-etcd-quota-backend-bytes")
	})
}
