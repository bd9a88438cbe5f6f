package agent

import (
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
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
