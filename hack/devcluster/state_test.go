package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

func TestDownStopsInOrderAndRemovesOnlyItsState(t *testing.T) {
	ctx := t.Context()
	l := newLayout(t)
	foreign := filepath.Join(l.dir, "notes.txt")
	writeTestFile(t, foreign, "not ours")
	s := settings{Ports: DefaultPorts(DefaultBasePort)}
	if err := errors.Join(s.chooseWebsiteData(l), s.save(l)); err != nil {
		t.Fatal(err)
	}
	var running []*Process
	for _, name := range []string{etcd, websiteController, kubeAPIServer, "further-controller"} {
		p := newTestProcess(l, name, roleRuns)
		p.detached = true
		if err := p.Start(ctx); err != nil {
			t.Fatal(err)
		}
		running = append(running, p)
	}
	// One record is of a crashed process, the other has a reused pid.
	if err := (&record{Name: kwok, PID: 1 << 30}).save(l); err != nil {
		t.Fatal(err)
	}
	if err := (&record{Name: kubeScheduler, PID: os.Getpid()}).save(l); err != nil {
		t.Fatal(err)
	}
	var said []string
	err := Down(ctx, l.dir, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range running {
		eventually(t, p.Name()+" has ended", func() bool { return !p.Running() })
	}
	var order []string
	for _, line := range said {
		if name, _, ok := strings.Cut(line, ":"); ok {
			order = append(order, name)
		}
	}
	if want := []string{"further-controller", websiteController, kwok, kubeScheduler, kubeAPIServer,
		etcd}; !slices.Equal(order, want) {
		t.Errorf("order = %v, want %v", order, want)
	}
	entries, err := os.ReadDir(l.dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "notes.txt" {
		t.Errorf("left behind: %v (%v), want only the other file", entries, err)
	}
	if _, err := os.Stat(s.WebsiteData); err == nil {
		t.Errorf("%s is still there", s.WebsiteData)
	}
}

func TestDownLeavesOtherDirectorysAlone(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, "logs", "precious")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), dir, t.Logf); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(logs); err != nil {
		t.Error("Down removed something from a directory that holds no cluster")
	}
	if err := Down(t.Context(), filepath.Join(dir, "absent"), t.Logf); err != nil {
		t.Errorf("Down of a directory that does not exist: %v", err)
	}
}

// TestDownOfDamagedState: Up recommends "make down".
func TestDownOfDamagedState(t *testing.T) {
	l := layout{dir: filepath.Join(t.TempDir(), "state")}
	if err := l.make(); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, l.settings(), "")
	if _, err := loadSettings(l); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), "make down") {
		t.Errorf("loadSettings = %v, want the advice", err)
	}
	if err := Down(t.Context(), l.dir, t.Logf); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state is there: %v", err)
	}
}

func TestUpRefusesAFolderWithOtherThings(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "thesis.tex"), "")
	if _, err := Up(t.Context(), Options{Dir: dir, RepoDir: testRepo(t)}); err == nil ||
		!strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("Up = %v, want an error that names the file", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory now holds %v (%v)", entries, err)
	}
}

func TestWebsiteDataPathIsShort(t *testing.T) {
	short := layout{dir: filepath.Join(t.TempDir(), "s")}
	long := layout{dir: filepath.Join(t.TempDir(), strings.Repeat("long", 30))}
	for _, l := range []layout{short, long} {
		var s settings
		if err := errors.Join(l.make(), s.chooseWebsiteData(l), s.save(l)); err != nil {
			t.Fatal(err)
		}
		if len(s.WebsiteData) > maxDataDirLength {
			t.Errorf("%s has %d characters", s.WebsiteData, len(s.WebsiteData))
		}
		info, err := os.Stat(s.WebsiteData)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v, want a directory of mode 0700", s.WebsiteData, info, err)
		}
		loaded, err := loadSettings(l)
		if err != nil || !reflect.DeepEqual(loaded, s) {
			t.Errorf("loadSettings = %+v, %v, want %+v", loaded, err, s)
		}
		if err := l.remove(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.WebsiteData); err == nil {
			t.Errorf("%s was not removed", s.WebsiteData)
		}
	}
}

func TestFileLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryLock(path); !errors.Is(err, fileutil.ErrLocked) {
		t.Fatalf("a second lock: %v, want fileutil.ErrLocked", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	waits := 0
	if _, err := lockFile(ctx, path, func() { waits++ }); !errors.Is(err, context.DeadlineExceeded) || waits != 1 {
		t.Errorf("waiting for a lock: %v after %d messages", err, waits)
	}
	// "make down" removes the file while it holds the lock.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := tryLock(path)
	if err != nil {
		t.Fatalf("locking a new file of that name: %v", err)
	}
	_ = first.Close()
	if _, err := tryLock(path); !errors.Is(err, fileutil.ErrLocked) {
		t.Errorf("releasing the old lock released the new one: %v", err)
	}
	_ = second.Close()
	third, err := lockFile(t.Context(), path, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}
	_ = third.Close()
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"one", "two"} {
		if err := writeFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(data) != content || info.Mode().Perm() != 0o600 {
			t.Errorf("file = %q, %v, %v, %v", data, info.Mode(), err, statErr)
		}
	}
}
