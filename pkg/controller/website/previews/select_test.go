package previews

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

var (
	now     = time.Unix(1_700_000_000, 0)
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 40)
)

func newInput(tweaks ...func(*branchState)) *branchState {
	in := &branchState{Now: now, Website: &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: v1beta1.WebsiteSpec{
			Source:   v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Ref: &v1beta1.GitReference{Branch: "main"}}},
			Previews: &v1beta1.WebsitePreviews{Branches: []string{"*"}, MaxCount: 3},
		},
	}}
	for _, tweak := range tweaks {
		tweak(in)
	}
	return in
}

func list(names ...string) *workload.Branches {
	branches := &workload.Branches{}
	for _, name := range names {
		branches.List = append(branches.List, workload.Branch{Name: name, Commit: commitA})
	}
	return branches
}

func listing(names ...string) func(*branchState) {
	return func(in *branchState) { in.Listed = list(names...) }
}

func listingFirst(names ...string) func(*branchState) {
	return func(in *branchState) { in.Listed = list(names...); in.Listed.More = true }
}

func holding(names ...string) func(*branchState) { return func(in *branchState) { in.Held = names } }

func withTTL(ttl time.Duration) func(*branchState) {
	return func(in *branchState) { in.Website.Spec.Previews.TTLSeconds = ptr.To(int32(ttl.Seconds())) }
}

func withPatterns(patterns ...string) func(*branchState) {
	return func(in *branchState) { in.Website.Spec.Previews.Branches = patterns }
}

func following(ref *v1beta1.GitReference) func(*branchState) {
	return func(in *branchState) { in.Website.Spec.Source.Git.Ref = ref }
}

// reported adds a branch, with commitA, to the last report.
func reported(branch, website string, age time.Duration) func(*branchState) {
	return func(in *branchState) {
		in.Website.Status.Previews = append(in.Website.Status.Previews, v1beta1.WebsitePreviewStatus{
			Branch: branch, WebsiteName: website, Commit: commitA, LastCommitTime: metav1.NewTime(now.Add(-age)),
		})
	}
}

// tooOldFor marks branches as too old since some time ago.
func tooOldFor(ago time.Duration, names ...string) func(*branchState) {
	return func(in *branchState) {
		in.TooOld = map[string]time.Time{}
		for _, name := range names {
			in.TooOld[name] = now.Add(-ago)
		}
	}
}

func TestNewSelection(t *testing.T) {
	for name, test := range map[string]struct {
		tweaks      []func(*branchState)
		want        string
		wantOmitted int
		wantOld     string
	}{
		"those that match": {[]func(*branchState){withPatterns("a*", "c"), listing("a", "ab", "b", "c")},
			"a ab c", 0, ""},
		"not the own branch": {[]func(*branchState){listing("a", "main")}, "a", 0, ""},
		"not the own branch, by its full name": {[]func(*branchState){following(&v1beta1.GitReference{Name: "refs/heads/a"}),
			listing("a", "main")}, "main", 0, ""},
		"not the own branch, by HEAD": {
			[]func(*branchState){following(nil), listing("a", "main"), func(in *branchState) { in.Listed.Head = "main" }},
			"a", 0,
			"",
		},
		"all, next to a tag": {[]func(*branchState){following(&v1beta1.GitReference{Tag: "main"}), listing("a", "main")},
			"a main", 0, ""},
		"the first by name": {[]func(*branchState){listing("a", "b", "c", "d", "e")}, "a b c", 2, ""},
		"those that have one keep it": {[]func(*branchState){holding("e", "d"), listing("a", "b", "c", "d", "e")},
			"a d e", 2, ""},
		"fewer than have one": {[]func(*branchState){holding("d", "c", "b", "a"), listing("a", "b", "c", "d")},
			"a b c", 1, ""},
		"one is gone": {[]func(*branchState){holding("a", "b"), reported("a", "shop-a", 0), listing("b")}, "b", 0,
			""},
		"one does not match any more": {[]func(*branchState){holding("a", "b"), withPatterns("b"), listing("a", "b")},
			"b", 0, ""},
		"nothing is known": {[]func(*branchState){holding("a", "b"), withTTL(time.Hour),
			reported("a", "shop-a", 2*time.Hour)}, "a b", 0, ""},
		"nothing is known, no match": {[]func(*branchState){holding("a", "b"), withPatterns("b")}, "b", 0, ""},
		"nothing is known of an old": {[]func(*branchState){withTTL(time.Hour), reported("a", "", 2*time.Hour)}, "", 0, "a"},
		"beyond the end of the list": {[]func(*branchState){holding("b", "z"), listingFirst("a", "c")}, "a c z", 0, ""},
		"too old": {
			[]func(*branchState){holding("a", "b"), withTTL(time.Hour), reported("a", "shop-a", time.Hour),
				reported("b", "shop-b", time.Hour-time.Second), listing("a", "b"), tooOldFor(confirmation, "a", "b")}, "b", 0, "a",
		},
		"too old since now": {
			[]func(*branchState){holding("a", "b"), withTTL(time.Hour), reported("a", "shop-a", time.Hour),
				reported("b", "shop-b", time.Hour), listing("a", "b"), tooOldFor(confirmation, "b")}, "a", 0, "b",
		},
		"too old for a moment": {[]func(*branchState){holding("a"), withTTL(time.Hour), reported("a", "shop-a", time.Hour),
			listing("a"), tooOldFor(confirmation-1, "a")}, "a", 0, ""},
		"still too old": {[]func(*branchState){withTTL(time.Hour), reported("a", "", time.Hour), listing("a")}, "",
			0, "a"},
		"too old, and gone": {[]func(*branchState){withTTL(time.Hour), reported("a", "", time.Hour), listing("b")}, "b",
			0, ""},
		"too old, but not any more": {[]func(*branchState){withTTL(2 * time.Hour), reported("a", "", time.Hour),
			listing("a")}, "a", 0, ""},
		"too old, with another commit": {[]func(*branchState){withTTL(time.Hour), reported("a", "", time.Hour),
			func(in *branchState) { in.Listed = list("a"); in.Listed.List[0].Commit = commitB }}, "a", 0, ""},
		"no branch": {[]func(*branchState){holding("a"), listing()}, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(test.tweaks...)
			s := newSelection(in)
			if got := strings.Join(s.Branches, " "); got != test.want || s.Omitted != test.wantOmitted {
				t.Errorf("selected %q, omitted %d, want %q, omitted %d", got, s.Omitted, test.want, test.wantOmitted)
			}
			var old []string
			for _, entry := range s.Reported {
				if entry.WebsiteName == "" {
					old = append(old, entry.Branch)
				} else if !slices.Contains(s.Branches, entry.Branch) {
					t.Errorf("%+v is reported, and not selected", entry)
				}
			}
			if got := strings.Join(old, " "); got != test.wantOld || len(s.Reported) != len(s.Branches)+len(old) {
				t.Errorf("reported %+v, want %q as too old", s.Reported, test.wantOld)
			}
			in.Held, in.Website.Status.Previews, in.TooOld = s.Branches, s.Reported, s.TooOld
			again := newSelection(in)
			again.TooOld, again.Reasons = s.TooOld, s.Reasons
			if !reflect.DeepEqual(again, s) {
				t.Errorf("selected again: %+v, want %+v", again, s)
			}
		})
	}
}

func TestTimeOfTheLastCommit(t *testing.T) {
	in := newInput(withTTL(time.Hour), reported("a", "shop-a", 30*time.Minute), reported("b", "shop-b", 10*time.Minute),
		holding("a", "b"), listing("a", "b", "c"))
	in.Listed.List[1].Commit = commitB
	s := newSelection(in)
	want := []v1beta1.WebsitePreviewStatus{
		{Branch: "a", WebsiteName: "shop-a", Commit: commitA, LastCommitTime: metav1.NewTime(now.Add(-30 * time.Minute))},
		{Branch: "b", WebsiteName: "shop-b", Commit: commitB, LastCommitTime: metav1.NewTime(now)},
		{Branch: "c", WebsiteName: "shop-c", Commit: commitA, LastCommitTime: metav1.NewTime(now)},
	}
	if !reflect.DeepEqual(s.Reported, want) {
		t.Errorf("reported %+v, want %+v", s.Reported, want)
	}
	if s.Next != 30*time.Minute {
		t.Errorf("the next is too old in %v, want 30m", s.Next)
	}
}

// TestClockIsAhead: a preview is not removed because the clock is ahead for a moment.
func TestClockIsAhead(t *testing.T) {
	in := newInput(withTTL(time.Hour), holding("a", "b"), listing("a", "b"), reported("a", "shop-a", 0),
		reported("b", "shop-b", 0))
	const day = 24 * time.Hour
	for _, step := range []struct {
		after    time.Duration
		want     string
		wantNext time.Duration
	}{
		{0, "a b", time.Hour},
		{day, "a b", confirmation},
		{time.Second, "a b", time.Hour - time.Second},
		{day + confirmation, "a b", confirmation},
		{day + 2*confirmation - time.Second, "a b", time.Second},
		{day + 2*confirmation, "", 0},
		{day + 3*confirmation, "", 0},
	} {
		in.Now = now.Add(step.after)
		s := newSelection(in)
		if got := strings.Join(s.Branches, " "); got != step.want || s.Next != step.wantNext {
			t.Errorf("after %v selected %q, the next in %v, want %q, in %v", step.after, got, s.Next, step.want, step.wantNext)
		}
		in.TooOld = s.TooOld
	}
	in.Now = time.Now()
	in.TooOld = nil
	// Equal would not compare the monotonic time.
	if s := newSelection(in); s.TooOld["a"] != in.Now {
		t.Errorf("too old since %v, want %v", s.TooOld["a"], in.Now)
	}
}

// TestReportIsBounded: the list in the status has a maximum length.
func TestReportIsBounded(t *testing.T) {
	in := newInput(withTTL(time.Hour), func(in *branchState) { in.Listed = list() })
	for i := range 2 * maxReported {
		branch := fmt.Sprintf("b%03d", i)
		in.Listed.List = append(in.Listed.List, workload.Branch{Name: branch, Commit: commitA})
		if i >= 3 {
			reported(branch, "", 2*time.Hour)(in)
		}
	}
	if s := newSelection(in); len(s.Reported) != maxReported || len(s.Branches) != 3 {
		t.Errorf("%d branches are reported, %d selected", len(s.Reported), len(s.Branches))
	}
}

func TestCurrent(t *testing.T) {
	named := func(name string) status.Pod {
		pod := &cached.Pod{Identity: cached.Identity{Name: name}}
		return status.Pod{Pod: pod, Ready: true, Observed: true, Observation: workload.Observation{Reachable: true}}
	}
	report := func(name, id string, since time.Duration, failure git.Reason) status.Pod {
		pod := named(name)
		pod.Branches = &workload.Branches{ID: id, Since: now.Add(since), Failure: failure, Head: name}
		return pod
	}
	notReady := report("a", "id", 0, "")
	notReady.Ready = false
	for name, test := range map[string]struct {
		pods    []status.Pod
		want    string
		failure git.Reason
	}{
		"none":                    {nil, "", ""},
		"a pod without one":       {[]status.Pod{named("a")}, "", ""},
		"of other patterns":       {[]status.Pod{report("a", "other", 0, "")}, "", ""},
		"a pod that is not ready": {[]status.Pod{notReady}, "", ""},
		"the last change": {[]status.Pod{report("a", "id", -time.Hour, ""), report("b", "id", -time.Minute, ""),
			report("c", "other", 0, "")}, "b", ""},
		"the first by name": {[]status.Pod{report("b", "id", -time.Minute, ""), report("a", "id", -time.Minute, "")},
			"a", ""},
		"a clock that is off": {[]status.Pod{report("b", "id", time.Hour, ""), report("a", "id", 2*time.Minute, "")}, "a",
			""},
		"one that fails": {[]status.Pod{report("a", "id", -time.Hour, ""), report("b", "id", 0, git.ReasonNotFound)},
			"a", ""},
		"all fail": {[]status.Pod{report("a", "id", 0, git.ReasonNotFound)}, "", git.ReasonNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			got, failure := current(test.pods, "id", now)
			if (got == nil) != (test.want == "") || got != nil && got.Head != test.want || failure != test.failure {
				t.Errorf("the current report is %+v, %q, want the one of %q, %q", got, failure, test.want, test.failure)
			}
		})
	}
}
