package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// TestReleasesThatFail: the more often the release of a commit has failed, the later it is tried
// again, until there is another commit.
func TestReleasesThatFail(t *testing.T) {
	bad, worse, good := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	const often = 20
	for name, test := range map[string]struct {
		// failures is how often the first commit fails before others are fetched, one after another.
		failures int
		then     []string
		// want is how long the last commit is not tried again.
		want time.Duration
	}{
		"once":                       {1, nil, minReleaseRetry},
		"twice":                      {2, nil, 2 * minReleaseRetry},
		"four times":                 {4, nil, 8 * minReleaseRetry},
		"often":                      {often, nil, maxReleaseRetry},
		"another commit":             {often, []string{worse}, minReleaseRetry},
		"another commit, and back":   {often, []string{worse, bad}, minReleaseRetry},
		"one that is made, and back": {often, []string{good, bad}, minReleaseRetry},
	} {
		t.Run(name, func(t *testing.T) {
			a, now := newAgent(t), testingclock.NewFakeClock(time.Now())
			a.Clock = now
			makeRelease(t, a, good)
			follow := func(after time.Duration) (failed bool) {
				now.Step(after)
				a.follow(t.Context())
				return a.failed != "" && a.failedAt.Equal(now.Now())
			}
			fetches(t, a, bad)
			for i := range test.failures {
				if !follow(maxReleaseRetry) {
					t.Fatalf("try %d has not failed, or was not made", i+1)
				}
			}
			for _, commit := range test.then {
				fetches(t, a, commit)
				if failed := follow(linkInterval); failed != (commit != good) {
					t.Fatalf("commit %.2s has failed: %t", commit, failed)
				}
			}
			if follow(test.want - time.Millisecond) {
				t.Errorf("tried again before %v", test.want)
			}
			if !follow(time.Millisecond) {
				t.Errorf("not tried again after %v", test.want)
			}
		})
	}
}

// TestReleaseIsRetriedOnRequest: who asks for a commit, or a fetch, after a problem was solved does not wait for the
// next try.
func TestReleaseIsRetriedOnRequest(t *testing.T) {
	for name, request := range map[string]func(*Agent, string){
		"a pin": func(a *Agent, commit string) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.setPin(t.Context(), requests.Pin{Commit: commit})
		},
		"a sync": func(a *Agent, _ string) { a.requestSync(t.Context(), "once") },
	} {
		t.Run(name, func(t *testing.T) {
			a, now := newAgent(t), testingclock.NewFakeClock(time.Now())
			a.Clock = now
			bad := strings.Repeat("b", 40)
			fetches(t, a, bad)
			for range 10 {
				now.Step(maxReleaseRetry)
				a.follow(t.Context())
			}
			now.Step(time.Second)
			a.follow(t.Context())
			if a.failed != bad || a.failedAt.Equal(now.Now()) {
				t.Fatal("it was tried again without a request")
			}
			request(a, bad)
			a.follow(t.Context())
			if !a.failedAt.Equal(now.Now()) {
				t.Error("it was not tried again")
			}
		})
	}
}

// TestCommitThatIsTooLarge: a commit whose links take too much is not published, says why, and is no reason to end
// what is published. The next one is.
func TestCommitThatIsTooLarge(t *testing.T) {
	a, now := newAgent(t), testingclock.NewFakeClock(time.Now())
	a.Clock = now
	good, bad := strings.Repeat("a", 40), strings.Repeat("b", 40)
	makeRelease(t, a, good)
	fetches(t, a, good)
	a.follow(t.Context())
	fetches(t, a, bad)
	worktree := filepath.Join(a.GitSync.Root, ".worktrees", bad)
	target := strings.Repeat("public/../", 400)
	err := errors.Join(os.Mkdir(filepath.Join(worktree, "public"), 0o755), os.Mkdir(filepath.Join(a.Releases.Path(good), "public"), 0o755))
	for i := range 40 {
		err = errors.Join(err, os.Symlink(target+fmt.Sprintf("step-%d", i+1), filepath.Join(worktree, fmt.Sprintf("step-%d", i))))
	}
	for i := range 200 {
		err = errors.Join(err, os.Symlink("step-1", filepath.Join(worktree, fmt.Sprintf("link-%d", i))))
	}
	if err != nil {
		t.Fatal(err)
	}
	for try := range 2 {
		now.Step(maxReleaseRetry)
		a.follow(t.Context())
		status := a.Status()
		if status.Commit != good || a.Releases.Has(bad) {
			t.Errorf("served is %q, and there is a release of the other commit: %t", status.Commit, a.Releases.Has(bad))
		}
		if f := status.Failure; f == nil || f.Reason != gitsync.ReasonStorageFull || f.Count != try+1 || !strings.Contains(f.Text, "the commit is too large: its symbolic links") {
			t.Errorf("the failure is %+v, want %s and why", f, gitsync.ReasonStorageFull)
		}
	}
	fetches(t, a, good)
	a.follow(t.Context())
	if f := a.Status().Failure; f != nil {
		t.Errorf("with another commit the failure is %+v", f)
	}
}
