package backup

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

// mount mounts at path, with these arguments of the command, until the test ends.
func mount(t *testing.T, path string, arguments ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting takes root")
	}
	if out, err := exec.CommandContext(t.Context(), "mount", append(arguments, path)...).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), "umount", path).CombinedOutput(); err != nil {
			t.Errorf("unmounting %s: %v: %s", path, err, out)
		}
	})
}

// smallDisk mounts a file system of this size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	mount(t, dir, "-t", "tmpfs", "-o", "size="+size, "tmpfs")
	return dir
}

// keepFromRemoval makes a file unremovable even for root until the test ends: it becomes a
// mount point.
func keepFromRemoval(t *testing.T, path string) {
	t.Helper()
	mount(t, path, "--bind", path)
}

// TestFullDisk saves and restores on disks that are too small, and leaves no files there.
func TestFullDisk(t *testing.T) {
	dataDir := newDataDir(t)
	client, _ := startEtcd(t, dataDir)
	putRecord(t, client)
	if _, err := client.Put(t.Context(), websiteKey(0), strings.Repeat("x", 1<<20)); err != nil {
		t.Fatal(err)
	}
	snapshotter := Snapshotter{Transport: transport(t, dataDir), Prefix: prefix}
	disk := smallDisk(t, "512k")
	if _, err := snapshotter.Save(t.Context(), disk); err == nil ||
		!strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("Save = %v, want that there is no space", err)
	}
	mustBeEmpty(t, disk)

	s, err := snapshotter.Save(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	member := Member{Name: "a", PeerURLs: []string{"http://a:2380"}, InitialCluster: "a=http://a:2380"}
	disk = smallDisk(t, "64m")
	_, err = Restorer{Prefix: prefix, BumpRevision: 1, Space: embeddedetcd.SpaceFor}.Restore(t.Context(), s.Path,
		filepath.Join(disk, "data"), member)
	if err == nil || !strings.Contains(err.Error(), "130 MiB are needed") {
		t.Errorf("Restore = %v, want that there is no space", err)
	}
	mustBeEmpty(t, disk)
}
