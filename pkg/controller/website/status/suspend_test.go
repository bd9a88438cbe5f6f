package status

import (
	"strings"
	"testing"
)

// TestSuspendedWithoutCommit: the condition names the remedy.
func TestSuspendedWithoutCommit(t *testing.T) {
	for probing, want := range map[bool]string{
		true:  "nothing is; set it to false, or set spec.pin",
		false: "--commit-observation=None: new pods serve nothing; set spec.pin",
	} {
		in := newInput(suspendedOn(""))
		in.Probing = probing
		if got := suspendedWithoutCommit(in); got == nil || !strings.Contains(got.message, want) {
			t.Errorf("probing %t: %+v, want %q", probing, got, want)
		}
		in.Website.Spec.Pin = pinTo(commitB)
		if got := suspendedWithoutCommit(in); got != nil {
			t.Errorf("probing %t, pinned: %+v", probing, got)
		}
	}
}
