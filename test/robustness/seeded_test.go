package robustness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/robustness/check"
	"github.com/kubesites/website-apiserver/test/robustness/history"
	"github.com/kubesites/website-apiserver/test/robustness/load"
	"github.com/kubesites/website-apiserver/test/robustness/seeded"
)

const (
	// seededRequests is the number of requests that a broken proxy answers, seededRate the most per second: watches
	// end and resume meanwhile.
	seededRequests, seededRate = 150, 25
	// seededAttempts is the number of attempts until a bug is detected: some bugs require that clients make
	// certain requests at the same time.
	seededAttempts = 5
)

// TestSeededBugs puts a proxy with a bug between the load and the servers. Each bug is detected by
// its check, and no violation is reported without a bug.
func TestSeededBugs(t *testing.T) {
	tests := map[seeded.Bug]string{
		seeded.None:            "",
		seeded.StaleRead:       check.Linearizability,
		seeded.LostUpdate:      check.LostUpdate,
		seeded.LostWrite:       check.AcknowledgedWrite,
		seeded.SkippedEvent:    check.WatchGap,
		seeded.DuplicatedEvent: check.WatchDuplicate,
		seeded.BookmarkTooNew:  check.WatchBookmark,
		seeded.ResumeTooLate:   check.WatchResume,
	}
	for bug, want := range tests {
		t.Run(string(bug), func(t *testing.T) {
			t.Parallel()
			var violations []check.Violation
			counts := map[string]int{}
			for attempt := 0; attempt == 0 || bug != seeded.None && counts[want] == 0 && attempt < seededAttempts; attempt++ {
				violations = breakPromises(t, bug)
				for _, v := range violations {
					counts[v.Check]++
				}
			}
			if bug == seeded.None && len(violations) > 0 {
				t.Errorf("without a bug there are violations: %v", violations)
			}
			if bug != seeded.None && counts[want] == 0 {
				t.Errorf("%s was not noticed by %s, but by %v", bug, want, counts)
			}
			if len(violations) > 0 {
				t.Logf("%s was noticed by %s; for example: %s", bug, summarize(counts), violations[0])
			}
		})
	}
}

// breakPromises runs load through a proxy with a bug, and returns the violations.
func breakPromises(t *testing.T, bug seeded.Bug) []check.Violation {
	t.Helper()
	proxy, err := seeded.NewProxy(framework.AdminConfig(t), bug)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	e := newEnvironment(t, func(o *load.Options) {
		o.Targets = map[string]*rest.Config{history.Balanced: proxy.Config()}
		// Watches resume often, and writers conflict.
		o.WatchTime, o.Websites, o.Rate = time.Second, 4, seededRate
	})
	framework.WaitFor(t, "the proxy has answered", func(context.Context) error {
		if n := e.recorder.Count(0, e.recorder.Now(), served); n < seededRequests {
			return fmt.Errorf("%d of %d requests", n, seededRequests)
		}
		return nil
	})
	proxy.Heal()
	return check.Run(e.finish())
}

func summarize(counts map[string]int) string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf("%s (%d) ", name, counts[name])
	}
	return text
}
