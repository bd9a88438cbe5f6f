package agent

import (
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

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
