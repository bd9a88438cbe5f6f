package agent

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// fetches has the link of git-sync lead to a commit, as after a fetch.
func fetches(t *testing.T, a *Agent, commit string) {
	t.Helper()
	worktree, temporary := filepath.Join(".worktrees", commit), filepath.Join(a.GitSync.Root, "tmp-link")
	if err := errors.Join(os.MkdirAll(filepath.Join(a.GitSync.Root, worktree), 0o755), os.Symlink(worktree, temporary),
		os.Rename(temporary, filepath.Join(a.GitSync.Root, a.Link))); err != nil {
		t.Fatal(err)
	}
}

// startFollowing has an agent publish what git-sync fetches, and hold releases.
func startFollowing(t *testing.T, a *Agent) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.every(ctx, linkInterval, a.follow) })
	running.Go(func() {
		for ctx.Err() == nil {
			a.await(ctx, url.Values{requests.ParameterAfter: {a.Status().Revision}, requests.ParameterHold: {"true"}}, long)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

// TestLaterCommits: a release that is held gives way to that of a later commit. One commit
// is published after three seconds, however many are pushed, and all are after the last.
func TestLaterCommits(t *testing.T) {
	commit := func(i int) string { return strings.Repeat(string("0123456789abcdef"[i]), 40) }
	for name, test := range map[string]struct {
		// pushed are the commits that are fetched, each some time after the one before.
		pushed   []int
		interval time.Duration
		// unmade is one whose release cannot be made.
		unmade int
		// after is when the first commit is served that is not the first of all, and want which.
		after time.Duration
		want  int
	}{
		"one":                                 {[]int{1}, 0, 0, maxHold, 1},
		"a later one":                         {[]int{1, 2}, time.Second, 0, maxHold, 2},
		"one every second":                    {[]int{1, 2, 3, 4, 5, 6, 7, 8, 9}, time.Second, 0, maxHold, 3},
		"one that is not made":                {[]int{1, 2}, time.Second, 2, maxHold, 1},
		"back to what is served, and another": {[]int{1, 0, 2}, time.Second, 0, 2*time.Second + maxHold, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAgent(t)
				a.Releases.Keep = 10
				for i := range 10 {
					if i == 0 || i != test.unmade {
						makeRelease(t, a, commit(i))
					}
				}
				if err := a.publish(t.Context(), commit(0), ""); err != nil {
					t.Fatal(err)
				}
				startFollowing(t, a)
				time.Sleep(linkInterval / 2)
				begun := time.Now()
				go func() {
					for _, i := range test.pushed {
						fetches(t, a, commit(i))
						time.Sleep(test.interval)
					}
				}()
				for a.Releases.Current() == commit(0) && time.Since(begun) < 20*time.Second {
					time.Sleep(5 * time.Millisecond)
				}
				took := time.Since(begun)
				if got := a.Releases.Current(); got != commit(test.want) || took < test.after-linkInterval || took > test.after+2*linkInterval {
					t.Errorf("after %v commit %.2s is served, want %.2s after %v", took, got, commit(test.want), test.after)
				}
				time.Sleep(time.Minute)
				last := test.pushed[len(test.pushed)-1]
				if last == test.unmade {
					last = test.want
				}
				if status := a.Status(); status.Commit != commit(last) || status.Prepared != "" {
					t.Errorf("in the end commit %.2s is served and %q held, want the last commit, %.2s", status.Commit, status.Prepared, commit(last))
				}
			})
		})
	}
}

// TestExpectAnswersAnotherCommit: a request that waits for a commit learns of one that was
// prepared in its place.
func TestExpectAnswersAnotherCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t)
		for _, commit := range commits {
			makeRelease(t, a, commit)
		}
		if err := a.publish(t.Context(), commits[0], ""); err != nil {
			t.Fatal(err)
		}
		startFollowing(t, a)
		known := a.Status().Revision
		begun, missing := time.Now(), strings.Repeat("c", 40)
		time.AfterFunc(time.Second, func() { fetches(t, a, commits[1]) })
		for range 2 {
			// The second one finds that it has been prepared before.
			a.await(t.Context(), url.Values{requests.ParameterExpect: {missing}, requests.ParameterAfter: {known}}, long)
			if got := a.Status(); got.Prepared != commits[1] || time.Since(begun) > time.Second+linkInterval {
				t.Errorf("after %v the answer is %+v, want that the other commit is held", time.Since(begun), got)
			}
		}
	})
}
