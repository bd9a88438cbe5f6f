package problem

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestLasting: only an unclassified error is reported as persistent.
func TestLasting(t *testing.T) {
	for name, test := range map[string]struct {
		problem *Problem
		want    string
	}{
		"an error":     {Classify(errors.New("connection refused")), v1beta1.WebsiteReasonReconcileError},
		"a conflict":   {Classify(apierrors.NewConflict(deployments, "kubia", errors.New("changed"))), ""},
		"a taken name": {NameTaken("x", false, "taken"), v1beta1.WebsiteReasonNameTaken},
	} {
		before := *test.problem
		if got := test.problem.Lasting().Reason; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if *test.problem != before {
			t.Errorf("%s: the problem itself was changed", name)
		}
	}
}

// TestIDs: each obstacle gets its own event, but a different message of the same obstacle does not.
func TestIDs(t *testing.T) {
	quota := func(name, words string) *Problem {
		return Classify(apierrors.NewForbidden(deployments, name, errors.New("exceeded quota: "+words)))
	}
	if a, b := quota("kubia", "used 3"), quota("kubia", "used 4"); a.ID != b.ID {
		t.Errorf("one quota is two problems: %q, %q", a.ID, b.ID)
	}
	if a, b := quota("kubia", "used 3"), quota("other", "used 3"); a.ID == b.ID {
		t.Errorf("two refusals are one problem: %q", a.ID)
	}
}

func TestJoinTaken(t *testing.T) {
	taken := func(name string, passing bool) *Problem {
		return ChildTaken(name, passing, name, "is there", "are there")
	}
	for name, test := range map[string]struct {
		taken       []*Problem
		wantMessage string
		wantID      string
		wantPassing bool
	}{
		"one":               {[]*Problem{taken("a", true)}, "a is there", "NameTaken/a", true},
		"several":           {[]*Problem{taken("a", true), taken("b", true)}, "a, b are there", "NameTaken/a", true},
		"one does not pass": {[]*Problem{taken("a", true), taken("b", false)}, "a, b are there", "NameTaken/a", false},
		"one is there again": {[]*Problem{taken("a", false), ChildTaken("b", false, "b", "is back", "are back")},
			"a is there; b is back", "NameTaken/a", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := JoinTaken(test.taken)
			isWanted := got.Message == test.wantMessage && got.ID == test.wantID && got.Passing == test.wantPassing
			if !isWanted || got.Result != Taken {
				t.Errorf("JoinTaken() = %+v, want %q with ID %q, passing: %t", got, test.wantMessage, test.wantID, test.wantPassing)
			}
		})
	}
}

func TestShorten(t *testing.T) {
	if got := Shorten("short"); got != "short" {
		t.Errorf("Shorten() = %q", got)
	}
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	if got := len(Shorten(string(long))); got != maxLength {
		t.Errorf("the note has %d characters", got)
	}
	if got := Shorten(strings.Repeat("é", 600)); !utf8.ValidString(got) || len(got) < maxLength-2 || len(got) > maxLength {
		t.Errorf("a note is cut within a character: %d bytes, ...%q", len(got), got[len(got)-8:])
	}
}
