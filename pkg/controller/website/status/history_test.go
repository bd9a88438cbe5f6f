package status

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func released(commit string, cause v1beta1.ReleaseCause) v1beta1.WebsiteRelease {
	return v1beta1.WebsiteRelease{Commit: commit, PublishedTime: metav1.NewTime(testNow.Add(-time.Hour)), Cause: cause}
}

func seen(ago time.Duration) func(*Input) {
	return func(in *Input) { in.Origin.SeenTime = in.Now.Add(-ago) }
}

func specChanged(ago time.Duration) func(*Input) {
	return func(in *Input) { in.Origin.SpecChanged, in.Origin.SpecChangedTime = true, in.Now.Add(-ago) }
}

func described(subject, author string) func(*Input) {
	return func(in *Input) { in.Pods[0].Subject, in.Pods[0].Author = subject, author }
}

// delayOf returns the time from observedTime to publishedTime in milliseconds, or nil.
func delayOf(release v1beta1.WebsiteRelease) *int64 {
	if release.ObservedTime == nil {
		return nil
	}
	return ptr.To(release.PublishedTime.Sub(release.ObservedTime.Time).Milliseconds())
}

// TestHistory: a commit is a release once all ready pods serve it, with its cause and delay.
func TestHistory(t *testing.T) {
	before := withHistory(released(commitB, v1beta1.ReleaseCauseSpec))
	for name, test := range map[string]struct {
		tweaks []func(*Input)
		// releases is the length of the history; the other fields are the newest entry.
		releases int
		commit   string
		cause    v1beta1.ReleaseCause
		delay    *int64
	}{
		"the first of a new Website": {[]func(*Input){func(in *Input) {
			in.Website.Generation, in.Website.CreationTimestamp = 1, metav1.NewTime(testNow.Add(-20*time.Second))
		}}, 1, commitA, v1beta1.ReleaseCauseSpec, ptr.To[int64](20_000)},
		"the first of a Website that has changed": {[]func(*Input){specChanged(3 * time.Second)}, 1, commitA,
			v1beta1.ReleaseCauseSpec, ptr.To[int64](3000)},
		"published before there was a history": {[]func(*Input){func(in *Input) { in.Website.Status.Commit = commitA }}, 1,
			commitA, v1beta1.ReleaseCauseSpec, nil},
		"polled": {[]func(*Input){before, seen(1250 * time.Millisecond)}, 2, commitA,
			v1beta1.ReleaseCausePoll, ptr.To[int64](1250)},
		"polled, of an earlier controller": {[]func(*Input){before}, 2, commitA, v1beta1.ReleaseCausePoll, nil},
		"synced": {[]func(*Input){before, requested(isStarted), begun(9 * time.Second),
			seen(time.Second)}, 2, commitA, v1beta1.ReleaseCauseSync, ptr.To[int64](9876)},
		"synced, of an earlier controller": {[]func(*Input){before, requested(isStarted), begun(time.Second)}, 2,
			commitA, v1beta1.ReleaseCauseSync, ptr.To[int64](9876)},
		"polled before a request to sync": {[]func(*Input){before, requested(isStarted), begun(time.Second),
			seen(2 * time.Second)}, 2, commitA, v1beta1.ReleaseCausePoll, ptr.To[int64](2000)},
		"polled after a request to sync": {[]func(*Input){before, requested(isCompleted), seen(time.Second)}, 2,
			commitA, v1beta1.ReleaseCausePoll, ptr.To[int64](1000)},
		"another reference": {[]func(*Input){before, specChanged(8 * time.Second), seen(time.Second)},
			2, commitA, v1beta1.ReleaseCauseSpec, ptr.To[int64](8000)},
		"pinned": {
			[]func(*Input){before, pinnedTo(commitA), specChanged(300 * time.Millisecond), seen(time.Hour)}, 2, commitA,
			v1beta1.ReleaseCauseRollback, ptr.To[int64](300),
		},
		"no longer pinned": {[]func(*Input){before, specChanged(200 * time.Millisecond),
			seen(time.Hour)}, 2, commitA, v1beta1.ReleaseCauseSpec, ptr.To[int64](200)},
		"a clock that goes back": {[]func(*Input){before, seen(-time.Second)}, 2, commitA,
			v1beta1.ReleaseCausePoll, ptr.To[int64](0)},

		"the same content": {[]func(*Input){before, seen(time.Second), func(in *Input) {
			for i := range in.Pods {
				in.Pods[i].Replaced = "0123456789012345678901234567890123456789 " + commitB
			}
		}}, 1, commitA, v1beta1.ReleaseCauseSpec, nil},
		"the same": {[]func(*Input){withHistory(released(commitA, v1beta1.ReleaseCauseSync))}, 1, commitA,
			v1beta1.ReleaseCauseSync, nil},
		"pods differ": {[]func(*Input){before, func(in *Input) { in.Pods[0].Commit = commitB }}, 1, commitB,
			v1beta1.ReleaseCauseSpec, nil},
		"pods are unknown": {[]func(*Input){before, func(in *Input) { in.Pods[0].Observed = false }}, 1, commitB,
			v1beta1.ReleaseCauseSpec, nil},
		"no pods": {[]func(*Input){before, func(in *Input) { in.Pods = nil }}, 1, commitB,
			v1beta1.ReleaseCauseSpec, nil},
		"not observed": {[]func(*Input){before, func(in *Input) { in.Probing = false }}, 1, commitB,
			v1beta1.ReleaseCauseSpec, nil},
		"full": {[]func(*Input){func(in *Input) {
			for i := range 10 {
				in.Website.Status.History = append(in.Website.Status.History,
					released(fmt.Sprintf("%040d", i), v1beta1.ReleaseCausePoll))
			}
		}}, 10, commitA, v1beta1.ReleaseCausePoll, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(test.tweaks...)
			reported := in.Website.DeepCopy().Status.History
			history := Compute(in).History
			if len(history) != test.releases {
				t.Fatalf("%d releases, want %d", len(history), test.releases)
			}
			newest := history[0]
			if newest.Commit != test.commit || newest.Cause != test.cause || !ptr.Equal(delayOf(newest), test.delay) {
				t.Errorf("%s %s after %v ms, want %s %s after %v", newest.Cause, newest.Commit, ptr.Deref(delayOf(newest), -1),
					test.cause, test.commit, ptr.Deref(test.delay, -1))
			}
			for i, release := range history[1:] {
				if release.Commit != reported[i].Commit {
					t.Errorf("release %d is %s, want %s", i+1, release.Commit, reported[i].Commit)
				}
			}
		})
	}
}

// TestHistoryIsDescribed: the subject and the author are reported with the commit, or as soon as they
// are observed.
func TestHistoryIsDescribed(t *testing.T) {
	for name, tweaks := range map[string][]func(*Input){
		"at once": {withHistory(released(commitB, v1beta1.ReleaseCausePoll)), described("Fix it", "A. Author")},
		"later":   {withHistory(released(commitA, v1beta1.ReleaseCausePoll)), described("Fix it", "A. Author")},
	} {
		in := newInput(tweaks...)
		if got := Compute(in).History[0]; got.Commit != commitA || got.Subject != "Fix it" || got.Author != "A. Author" {
			t.Errorf("%s: %+v", name, got)
		}
		if in.Website.Status.History[0].Subject != "" {
			t.Errorf("%s: the reported status is changed", name)
		}
	}
}

// TestPinned: Synced is True while all ready pods serve the commit of spec.pin, whatever their last
// fetch.
func TestPinned(t *testing.T) {
	for name, test := range map[string]struct {
		tweaks []func(*Input)
		status metav1.ConditionStatus
		reason string
		// servesSpec is true if all pods serve the spec.
		servesSpec bool
	}{
		"not pinned": {nil, metav1.ConditionTrue, v1beta1.WebsiteReasonCommitPublished, true},
		"not pinned any more": {[]func(*Input){toldPin(commitA), synced(commitB)}, metav1.ConditionTrue,
			v1beta1.WebsiteReasonCommitPublished, false},
		"pinned": {[]func(*Input){pinnedTo(commitA), toldPin(commitA), synced(commitB)},
			metav1.ConditionTrue, v1beta1.WebsiteReasonPinned, true},
		"pinned, before the pods know": {[]func(*Input){pinnedTo(commitA), synced(commitA)}, metav1.ConditionTrue,
			v1beta1.WebsiteReasonPinned, false},
		"pinned, and a fetch fails": {[]func(*Input){pinnedTo(commitA), toldPin(commitA),
			func(in *Input) { in.Pods[0].Failure = "Unreachable" }}, metav1.ConditionTrue, v1beta1.WebsiteReasonPinned, true},
		"pinned to another": {[]func(*Input){pinnedTo(commitB), toldPin(commitB)}, metav1.ConditionFalse,
			v1beta1.WebsiteReasonCommitsDiffer, false},
		"pinned to one that is lost": {
			[]func(*Input){pinnedTo(commitB), toldPin(commitB), func(in *Input) { in.Pods[0].Failure = "CommitRefused" }},
			metav1.ConditionFalse, v1beta1.WebsiteReasonCommitRefused, false,
		},
		"some serve it": {[]func(*Input){pinnedTo(commitB), toldPin(commitB),
			func(in *Input) { in.Pods[0].Commit = commitB }}, metav1.ConditionFalse, v1beta1.WebsiteReasonCommitsDiffer, false},
		"suspended": {[]func(*Input){suspendedOn(commitA), toldPin(commitA), synced(commitB)},
			metav1.ConditionUnknown, v1beta1.WebsiteReasonSuspended, true},
		"suspended, pinned by a user": {
			[]func(*Input){pinnedTo(commitB), func(in *Input) { in.Website.Spec.Suspend = new(true) }, toldPin(commitA)},
			metav1.ConditionUnknown, v1beta1.WebsiteReasonSuspending, false,
		},
		"suspended, before the pods know": {[]func(*Input){suspendedOn(commitA)}, metav1.ConditionUnknown,
			v1beta1.WebsiteReasonSuspended, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(test.tweaks...)
			status := Compute(in)
			for _, condition := range status.Conditions {
				if condition.Type == v1beta1.WebsiteSynced && (condition.Status != test.status || condition.Reason != test.reason) {
					t.Errorf("Synced is %s %s: %s, want %s %s", condition.Status, condition.Reason, condition.Message,
						test.status, test.reason)
				}
			}
			if got := servesSpec(in); got != test.servesSpec {
				t.Errorf("servesSpec() is %t", got)
			}
		})
	}
}

// TestReportsSpec: the spec is the cause of a release until a status with its commit is written, also if that takes
// several reconciliations.
func TestReportsSpec(t *testing.T) {
	for name, test := range map[string]struct {
		written string
		want    bool
	}{
		"before the first status":  {"", false},
		"before the status":        {commitB, false},
		"the status is up to date": {commitA, true},
	} {
		in := newInput(func(in *Input) {
			if in.Website.Status.Commit = test.written; test.written != "" {
				in.Website.Status.History = []v1beta1.WebsiteRelease{{Commit: test.written}}
			}
		})
		if got := ReportsSpec(in); got != test.want {
			t.Errorf("%s: ReportsSpec() is %t", name, got)
		}
	}
}

func toldPin(commit string) func(*Input) {
	return func(in *Input) {
		for i := range in.Pods {
			in.Pods[i].Pin = commit
		}
	}
}
