package devcluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// started runs the test binary in a role and returns its record.
func started(t *testing.T, l layout) *record {
	t.Helper()
	p := newTestProcess(l, "component", roleRuns)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := loadRecord(l, "component")
	if err != nil || r == nil {
		t.Fatalf("no record after the start: %v", err)
	}
	return r
}

func TestRecordProvesTheProcess(t *testing.T) {
	tests := []struct {
		name   string
		change func(*record)
		want   bool
	}{
		{"unchanged", func(*record) {}, true},
		{"other arguments", func(r *record) { r.Argv = append(r.Argv, "another") }, false},
		{"other program", func(r *record) { r.Argv = []string{"/bin/sleep", "60"} }, false},
		{"pid without a process", func(r *record) { r.PID = 1 << 30 }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			original := started(t, newLayout(t))
			changed := *original
			test.change(&changed)
			if got := changed.alive(); got != test.want {
				t.Errorf("alive = %t, want %t", got, test.want)
			}
			if test.want {
				return
			}
			if err := changed.signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("signal = %v, want os.ErrProcessDone", err)
			}
			if !original.alive() {
				t.Error("a process was killed that the record does not prove to be ours")
			}
		})
	}
}

func TestZombieCountsAsEnded(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, roleCrashes)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	// The zombie is not reaped yet, so its pid stays in use.
	eventually(t, "the zombie counts as ended", func() bool {
		return !processRuns(cmd.Process.Pid, cmd.Args)
	})
	if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
		t.Skipf("the process is gone entirely: %v", err)
	}
}

func TestLoadRecord(t *testing.T) {
	l := newLayout(t)
	if r, err := loadRecord(l, "absent"); r != nil || err != nil {
		t.Errorf("loadRecord of none = %v, %v", r, err)
	}
	want := record{Name: "etcd", PID: 7, Argv: []string{"a", "b"},
		Started: time.Now().UTC().Truncate(time.Second)}
	if err := want.save(l); err != nil {
		t.Fatal(err)
	}
	got, err := loadRecord(l, "etcd")
	if err != nil || got.PID != want.PID || !slices.Equal(got.Argv, want.Argv) {
		t.Errorf("loadRecord = %+v, %v, want %+v", got, err, want)
	}
	writeTestFile(t, l.record("broken"), "{")
	if _, err := loadRecord(l, "broken"); err == nil || !strings.Contains(err.Error(), l.record("broken")) {
		t.Errorf("a damaged record gives %v, want an error that names the file", err)
	}
}

func TestStopOrder(t *testing.T) {
	got := stopOrder([]string{etcd, kubeAPIServer, "second-controller", kwok, websiteAPIServer, kubeScheduler,
		websiteController, kubeControllerManager, "a-controller"})
	want := []string{"a-controller", "second-controller", websiteController, websiteAPIServer, kwok, kubeScheduler,
		kubeControllerManager, kubeAPIServer, etcd}
	if !slices.Equal(got, want) {
		t.Errorf("stopOrder = %v, want %v", got, want)
	}
}

func TestHashFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	hash := func(contentA, contentB string) string {
		writeTestFile(t, a, contentA)
		writeTestFile(t, b, contentB)
		sum, err := hashFiles(a, b)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := hash("xy", "z")
	if first != hash("xy", "z") {
		t.Error("the same content has two hashes")
	}
	if first == hash("x", "yz") {
		t.Error("content moved from one file to the other does not change the hash")
	}
}
