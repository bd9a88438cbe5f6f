package gitsync

import (
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
