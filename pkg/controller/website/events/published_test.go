package events

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var testNow = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

var commitA, commitB = strings.Repeat("a", 40), strings.Repeat("b", 40)

// TestPublished: each change of a written status is reported once.
func TestPublished(t *testing.T) {
	release := func(commit string, cause v1beta1.ReleaseCause) v1beta1.WebsiteRelease {
		return v1beta1.WebsiteRelease{Commit: commit, Cause: cause, Subject: "Fix it", Author: "A. Author",
			ObservedTime: new(metav1.NewTime(testNow.Add(-640 * time.Millisecond))), PublishedTime: metav1.NewTime(testNow)}
	}
	synced := func(result v1beta1.SyncResult) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) {
			website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 3,
				Time: metav1.NewTime(testNow), By: "ci"}, StartedID: 3,
				LastCompleted: &v1beta1.WebsiteSyncCompletion{ID: 3, Time: metav1.NewTime(testNow.Add(time.Second)), Result: result,
					Reason: "X", Message: "why"}}
		}
	}
	history := func(releases ...v1beta1.WebsiteRelease) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) { website.Status.History = releases }
	}
	condition := func(status metav1.ConditionStatus, reason string) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) {
			website.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteSynced, Status: status, Reason: reason,
				Message: "why"}}
		}
	}
	type tweaks = []func(*v1beta1.Website)
	polled, pinned := release(commitA, v1beta1.ReleaseCausePoll), release(commitB, v1beta1.ReleaseCauseRollback)
	for name, test := range map[string]struct {
		before, after tweaks
		want          []string
	}{
		"nothing": {nil, nil, nil},
		"the first release": {nil, tweaks{history(polled)},
			[]string{`Normal Published published commit aaaaaaaaaaaa "Fix it" by A. Author (Poll, after 640ms)`}},
		"the same release": {tweaks{history(polled)}, tweaks{history(polled)}, nil},
		"a release before the history": {tweaks{func(website *v1beta1.Website) { website.Status.Commit = commitA }},
			tweaks{history(polled)}, nil},
		"a release without description": {
			tweaks{history(polled)}, tweaks{history(v1beta1.WebsiteRelease{Commit: commitB, Cause: v1beta1.ReleaseCauseSpec},
				polled)}, []string{"Normal Published published commit bbbbbbbbbbbb (Spec)"},
		},
		"a rollback": {tweaks{history(polled)}, tweaks{history(pinned, polled)},
			[]string{`Normal RolledBack rolled back to commit bbbbbbbbbbbb "Fix it" by A. Author (Rollback, after 640ms)`}},
		"a request that has succeeded": {tweaks{history(polled)},
			tweaks{history(release(commitB, v1beta1.ReleaseCauseSync), polled), synced(v1beta1.SyncSucceeded)},
			[]string{`Normal Published published commit bbbbbbbbbbbb "Fix it" by A. Author (Sync by ci, after 640ms)`}},
		"a request that has failed": {nil, tweaks{synced(v1beta1.SyncFailed)}, []string{"Warning SyncFailed X: why"}},
		"a request that had failed": {tweaks{synced(v1beta1.SyncFailed)}, tweaks{synced(v1beta1.SyncFailed)}, nil},
		"a fetch that fails": {tweaks{condition("True", "CommitPublished")},
			tweaks{condition("False", "RefNotFound")}, []string{"Warning PublishFailed RefNotFound: why"}},
		"a fetch that fails still": {tweaks{condition("False", "RefNotFound")},
			tweaks{condition("False", "RefNotFound")}, nil},
		"a commit that is too large": {tweaks{condition("True", "CommitPublished")},
			tweaks{condition("False", "RepositoryTooLarge")}, []string{"Warning PublishFailed RepositoryTooLarge: why"}},
		"a commit that is still too large": {tweaks{condition("False", "RepositoryTooLarge")},
			tweaks{condition("False", "RepositoryTooLarge")}, nil},
		"pods that differ for a moment": {tweaks{condition("True", "CommitPublished")},
			tweaks{condition("False", "CommitsDiffer")}, nil},
		"warnings": {tweaks{condition("True", "CommitPublished")}, tweaks{condition("True", "PublishedWithWarnings")},
			[]string{"Warning PublishedWithWarnings why"}},
		"the same warnings": {tweaks{condition("True", "PublishedWithWarnings"), history(polled)},
			tweaks{condition("True", "PublishedWithWarnings"), history(pinned, polled)},
			[]string{`Normal RolledBack rolled back to commit bbbbbbbbbbbb "Fix it" by A. Author (Rollback, after 640ms)`}},
		"other warnings": {tweaks{condition("True", "PublishedWithWarnings"), func(website *v1beta1.Website) {
			website.Status.Conditions[0].Message = "another"
		}}, tweaks{condition("True", "PublishedWithWarnings")}, []string{"Warning PublishedWithWarnings why"}},
		"an unknown fetch state": {tweaks{condition("True", "CommitPublished")},
			tweaks{condition("Unknown", "PodsUnreachable")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := clientevents.NewFakeRecorder(10)
			r := NewReporter(recorder, remembering())
			r.Published(newWebsite(test.before...), newWebsite(test.after...), testNow)
			close(recorder.Events)
			var got []string
			for event := range recorder.Events {
				got = append(got, event)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("events %q, want %q", got, test.want)
			}
		})
	}
}
