package embeddedetcd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// TestSupervisorWaitsForTheDirectory gives a Supervisor a directory in which etcd cannot
// be started, until it can.
func TestSupervisorWaitsForTheDirectory(t *testing.T) {
	tests := map[string]struct {
		// occupy makes the directory unusable until the returned function is called.
		occupy func(t *testing.T, dir string) (free func())
		want   string
	}{
		"locked": {
			occupy: func(t *testing.T, dir string) func() {
				other, err := Start(t.Context(), Config{DataDir: dir})
				if err != nil {
					t.Fatal(err)
				}
				return func() {
					if err := other.Close(); err != nil {
						t.Error(err)
					}
				}
			},
			want: "is in use by another process",
		},
		"no directory": {
			occupy: func(t *testing.T, dir string) func() {
				file := filepath.Join(dir, "etcd")
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				return func() {
					if err := os.Remove(file); err != nil {
						t.Error(err)
					}
				}
			},
			want: "not a directory",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// The path is short, as it contains a Unix socket.
			dir, err := os.MkdirTemp("/tmp", "etcd-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			free := test.occupy(t, dir)
			s := NewSupervisor(Config{DataDir: dir, QuotaBytes: DefaultQuotaBytes, HistoryBytes: DefaultHistoryBytes},
				clock.RealClock{})
			if s.Failure() == nil {
				t.Error("etcd runs before it was started")
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			s.Wait(ctx)
			if failure := s.Failure(); failure == nil || !strings.Contains(failure.Error(), test.want) {
				t.Errorf("failure = %v, want %q", failure, test.want)
			}
			free()
			if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true,
				func(context.Context) (bool, error) {
					return s.Failure() == nil, nil
				}); err != nil {
				t.Errorf("etcd does not run: %v", s.Failure())
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if again, err := Start(t.Context(), Config{DataDir: dir}); err != nil {
				t.Errorf("the directory is not free after Close: %v", err)
			} else if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSupervisorEndsWithoutEtcd: Close releases the resources of a Run that could not start etcd.
func TestSupervisorEndsWithoutEtcd(t *testing.T) {
	s := NewSupervisor(Config{DataDir: filepath.Join(t.TempDir(), strings.Repeat("x", 300))}, clock.RealClock{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.Wait(ctx)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil || s.Failure() == nil {
		t.Errorf("closed with %v, failure %v", err, s.Failure())
	}
}
