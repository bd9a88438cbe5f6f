package embeddedetcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

// overwrite damages a part of a file.
func overwrite(t *testing.T, path string, offset, length int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("damage", length/6)), int64(offset)); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedData: the Supervisor reports damaged data, and the process must not end.
func TestDamagedData(t *testing.T) {
	const db, wal = "member/snap/db", "member/wal/0000000000000000-0000000000000000.wal"
	page := os.Getpagesize()
	for name, damage := range map[string]func(t *testing.T, dir string){
		"meta pages": func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, db), 0, 2*page) },
		"all but meta pages": func(t *testing.T, dir string) {
			info, err := os.Stat(filepath.Join(dir, db))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, filepath.Join(dir, db), 2*page, int(info.Size())-2*page)
		},
		"truncated database": func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, db), int64(3*page)); err != nil {
				t.Fatal(err)
			}
		},
		"empty database": func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, db), 100); err != nil {
				t.Fatal(err)
			}
		},
		"no database": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, db)); err != nil {
				t.Fatal(err)
			}
		},
		"write-ahead log": func(t *testing.T, dir string) {
			content, err := os.ReadFile(filepath.Join(dir, wal))
			if err != nil {
				t.Fatal(err)
			}
			// A value is damaged: with another length of a record, etcd would treat the rest as an
			// incomplete record.
			overwrite(t, filepath.Join(dir, wal), bytes.Index(content, []byte(strings.Repeat("x", 100))), 60)
		},
		"beginning of the log": func(t *testing.T, dir string) { overwrite(t, filepath.Join(dir, wal), 0, 60) },
		"a file of the log": func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, wal),
				filepath.Join(dir, "member/wal/0000000000000007-0000000000000700.wal")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Each subtest waits a second for the next attempt of the Supervisor.
			t.Parallel()
			dataDir := newDataDir(t)
			config := Config{DataDir: dataDir, QuotaBytes: DefaultQuotaBytes, HistoryBytes: DefaultHistoryBytes}
			server, err := Start(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			client := newClient(t, dataDir)
			for i := range 2 * snapshotCount {
				if _, err := client.Put(t.Context(), fmt.Sprintf("key%d", i), strings.Repeat("x", 1000)); err != nil {
					t.Fatal(err)
				}
			}
			if err := server.Close(); err != nil {
				t.Fatal(err)
			}
			dir, intact := filepath.Join(etcdDir(dataDir), dataName), filepath.Join(dataDir, "intact")
			if err := os.CopyFS(intact, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			damage(t, dir)

			s := NewSupervisor(config, clock.RealClock{})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			s.Wait(ctx)
			if failure := s.Failure(); failure == nil || !strings.Contains(failure.Error(), "store restore") {
				t.Errorf("failure = %v, want that the data cannot be read", failure)
			}
			// The data is replaced as by "store restore", between two attempts of the server to start etcd.
			waitFor(t, "the data to be replaced", func(context.Context) error {
				return Restore(dataDir, func(dir string, _ Member) error {
					return errors.Join(os.RemoveAll(dir), os.Rename(intact, dir))
				})
			})
			waitFor(t, "etcd to run", func(context.Context) error { return s.Failure() })
			stop()
			if err := errors.Join(<-ended, s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
