package gitsync

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 54 * time.Second, 0.5: time.Minute, 1: 66 * time.Second} {
		given := []string{"/git-sync", "--period=60s", "--init-period=5s"}
		s := &Supervisor{Period: time.Minute, Command: given}
		s.Spread(random)
		if s.Period != want || !slices.Equal(s.Command, []string{"/git-sync", "--period=" + want.String(), "--init-period=5s"}) {
			t.Errorf("with %v the period is %v, the command %q", random, s.Period, s.Command)
		}
		if given[1] != "--period=60s" {
			t.Error("the given command is changed")
		}
	}
}

// TestPause: before the first commit a host is polled again soon, also if the period is long.
func TestPause(t *testing.T) {
	for name, test := range map[string]struct {
		period    time.Duration
		refusals  int
		published bool
		want      time.Duration
	}{
		"before the first commit":            {24 * time.Hour, 1, false, 10 * time.Second},
		"before the first commit, again":     {24 * time.Hour, 3, false, 40 * time.Second},
		"before the first commit, for long":  {24 * time.Hour, 10, false, maxPause},
		"before the first commit, and short": {time.Second, 1, false, 2 * time.Second},
		"once":                               {time.Minute, 1, true, 2 * time.Minute},
		"for long":                           {time.Minute, 10, true, maxPause},
		"a long period":                      {24 * time.Hour, 1, true, 24 * time.Hour},
		"never":                              {0, 1, true, 10 * time.Second},
		"never, for long":                    {0, 10, true, maxPause},
		"never, before the first commit":     {0, 3, false, 40 * time.Second},
	} {
		s := &Supervisor{Root: t.TempDir(), Period: test.period, refusals: test.refusals, Command: []string{"/git-sync", "--link=current", "--init-period=5s"}}
		if test.published {
			if err := os.Symlink(".worktrees/0123", filepath.Join(s.Root, "current")); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.pause(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestThrottled(t *testing.T) {
	for text, want := range map[string]bool{
		"fatal: unable to access 'https://example.com/site.git/': the requested url returned error: 429": true,
		"fatal: unable to access 'https://example.com/site.git/': the requested url returned error: 503": true,
		"fatal: unable to access 'https://example.com/site.git/': the requested url returned error: 500": false,
		"fatal: repository 'https://example.com/429/' not found":                                         false,
	} {
		if got := throttled.MatchString(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
