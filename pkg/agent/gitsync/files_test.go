package gitsync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// TestTooManyFiles: a git that fills a worktree with many files is ended, whoever has started it, and the reason is
// known. One that works in the published worktree is not.
func TestTooManyFiles(t *testing.T) {
	const limit, commit, published = 1000, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	for name, test := range map[string]struct {
		filled string
		limit  int64
		beside bool
		ends   bool
	}{
		"a worktree":                 {filled: commit, limit: limit, ends: true},
		"a worktree beside":          {filled: commit, limit: limit, beside: true, ends: true},
		"the published worktree":     {filled: published, limit: limit},
		"no limit":                   {filled: commit},
		"fewer files":                {filled: commit, limit: 100 * limit},
		"fewer in a worktree beside": {filled: commit, limit: 100 * limit, beside: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			// The name of a script is that of its process. It ends by itself, long after it should be ended.
			fill := filepath.Join(dir, "git-fill")
			script := fmt.Sprintf("#!/bin/sh\nd=0; while [ $d -lt 60 ]; do mkdir $d; f=0; while [ $f -lt 50 ]; do : > $d/$f; f=$((f+1)); done; d=$((d+1)); done\nsleep 1\n: > %s/filled\nexit 1\n", dir)
			if err := os.WriteFile(fill, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			gitSync := `
for argument; do case "$argument" in --error-file=*) error="${argument#*=}";; --root=*) root="${argument#*=}";; --one-time) once=yes;; esac; done
mkdir -p "$root/.worktrees/` + test.filled + `" && cd "$root/.worktrees/` + test.filled + `" && ln -sfn ".worktrees/` + published + `" "$root/current"
` + fill + `
echo '{"Msg": "error syncing repo", "Err": "Run(git reset --hard): signal: terminated: { stdout: \"\", stderr: \"\" }"}' > "$error.tmp"
mv "$error.tmp" "$error"
[ -n "$once" ] && exit 1
exec sleep 60`
			root, errorFile := filepath.Join(dir, "root"), filepath.Join(dir, "error.json")
			s := &Supervisor{
				Command: []string{"sh", "-c", gitSync, "git-sync", "--root=" + root, "--error-file=" + errorFile, "--link=current"}, Root: root, ErrorFile: errorFile,
				Period: time.Minute, Timeout: time.Minute, MaxFiles: test.limit, Clock: clock.RealClock{},
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				if test.beside {
					_, err := s.FetchCommit(ctx, filepath.Join(dir, "pin"), "current", commit)
					ended <- err
					return
				}
				ended <- s.runOnce(ctx)
			}()
			defer cancel()
			var got SyncError
			for begin := time.Now(); got.Reason == ReasonNone; time.Sleep(5 * time.Millisecond) {
				s.Check(t.Context())
				if time.Since(begin) > time.Minute {
					t.Fatal("it was not ended, and does not end")
				}
				if !test.beside {
					got, _ = s.LastError()
					continue
				}
				select {
				case err := <-ended:
					var failed *CommitError
					if !errors.As(err, &failed) {
						t.Fatalf("the commit was fetched with %v", err)
					}
					got = failed.SyncError
				default:
				}
			}
			_, err := os.Stat(filepath.Join(dir, "filled"))
			if isEnded := err != nil; isEnded != test.ends {
				t.Errorf("it was ended: %t", isEnded)
			}
			want := SyncError{Reason: ReasonUnknown, At: got.At}
			if test.ends {
				want = tooManyFiles(got.At)
			}
			if got != want {
				t.Errorf("the error is %+v, want %+v", got, want)
			}
			// The error may have been written since the last check, and its command still run.
			paused := !test.beside && test.ends
			s.Check(t.Context())
			for begin := time.Now(); s.Paused() != paused && time.Since(begin) < time.Minute; s.Check(t.Context()) {
				time.Sleep(5 * time.Millisecond)
			}
			if s.Paused() != paused {
				t.Errorf("git-sync is paused: %t", s.Paused())
			}
			cancel()
			if !test.beside {
				<-ended
			}
		})
	}
}

func TestCountFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 30 {
		write(t, dir, fmt.Sprintf("d%d/e/f%d", i%3, i))
	}
	const all = 3 + 3 + 30
	if got, err := countFiles(dir, 1000); err != nil || got != all {
		t.Errorf("there are %d, %v, want %d", got, err, all)
	}
	if got, err := countFiles(dir, 20); err != nil || got <= 20 || got > all {
		t.Errorf("there are %d, %v, want more than 20", got, err)
	}
	if got, err := countFiles(filepath.Join(dir, "nowhere"), 20); err != nil || got != 0 {
		t.Errorf("in no directory there are %d, %v", got, err)
	}
}
