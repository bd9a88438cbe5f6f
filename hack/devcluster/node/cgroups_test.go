package node

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestHierarchies(t *testing.T) {
	const mounts = `proc /proc proc rw,relatime 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /odd\040place cgroup rw,name=systemd 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
broken
`
	want := []hierarchy{
		{"/sys/fs/cgroup/cpu", []string{"rw", "relatime", "cpu", "cpuacct"}},
		{"/odd place", []string{"rw", "name=systemd"}},
		{"/sys/fs/cgroup/unified", nil},
	}
	if got := hierarchies(mounts); !reflect.DeepEqual(got, want) {
		t.Errorf("hierarchies = %+v, want %+v", got, want)
	}
}

func TestRemoveCgroup(t *testing.T) {
	root := filepath.Join(t.TempDir(), "devcluster-1")
	if err := os.MkdirAll(filepath.Join(root, "pods", "one"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "pods", "two", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call has nothing to remove
		if err := removeCgroup(root); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(root); err == nil {
			t.Error("it is still there")
		}
	}
	// A cgroup with processes cannot be removed, like a directory with a file.
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "cgroup.procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeCgroup(root); err == nil {
		t.Error("removing a cgroup in use succeeded")
	}
}

// TestSetWeight: pods have a share of the processors beside a machine's other processes.
func TestSetWeight(t *testing.T) {
	for name, c := range map[string]struct {
		controllers []string
		file, want  string
	}{
		"version 1":                {controllers: []string{"rw", "cpu"}, file: "cpu.shares", want: "5120"},
		"version 1, another one":   {controllers: []string{"rw", "pids"}},
		"version 2":                {file: "cpu.weight", want: "500"},
		"version 2, without a cpu": {},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(dir, c.file), []byte("1"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := setWeight(hierarchy{controllers: c.controllers}, dir); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, entry := range entries {
				data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
				if err != nil {
					t.Fatal(err)
				}
				got[entry.Name()] = string(data)
			}
			want := map[string]string{}
			if c.file != "" {
				want[c.file] = c.want
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("the cgroup has %v, want %v", got, want)
			}
		})
	}
}
