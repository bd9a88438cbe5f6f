package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// firstRequest and secondRequest are IDs, and firstToken identifies the first request to pods.
const (
	firstRequest  = 7
	secondRequest = 8
	firstToken    = "7.1"
)

// requested adds a request to sync, changed by tweaks.
func requested(tweaks ...func(*v1beta1.WebsiteSyncStatus)) func(*Input) {
	return func(in *Input) {
		in.Website.Spec.Polling.TimeoutSeconds = 120
		in.Website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: firstRequest,
			Time: metav1.NewTime(testNow.Add(-10 * time.Second)), By: "ci"}}
		in.SyncRequest.Token, in.SyncRequest.Observed = firstToken, testNow.Add(-9876*time.Millisecond)
		for _, tweak := range tweaks {
			tweak(in.Website.Status.Sync)
		}
	}
}

func isStarted(sync *v1beta1.WebsiteSyncStatus) { sync.StartedID = firstRequest }

func isCompleted(sync *v1beta1.WebsiteSyncStatus) {
	isStarted(sync)
	sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{ID: firstRequest, Result: v1beta1.SyncSucceeded}
}

func isRequestedAgain(sync *v1beta1.WebsiteSyncStatus) { sync.LastRequest.ID = secondRequest }

func forCommit(commit string) func(*v1beta1.WebsiteSyncStatus) {
	return func(sync *v1beta1.WebsiteSyncStatus) { sync.LastRequest.Commit = commit }
}

// synced makes all pods complete the first request, with a fetched commit.
func synced(newest string) func(*Input) {
	return func(in *Input) {
		for i := range in.Pods {
			in.Pods[i].Synced, in.Pods[i].Newest = firstToken, newest
		}
	}
}

func mayStart(in *Input) { in.SyncRequest.MayStart = true }

func begun(ago time.Duration) func(*Input) {
	return func(in *Input) { in.SyncRequest.Begun = in.Now.Add(-ago) }
}

func pinnedTo(commit string) func(*Input) {
	return func(in *Input) { in.Website.Spec.Pin = pinTo(commit) }
}

func withHistory(releases ...v1beta1.WebsiteRelease) func(*Input) {
	return func(in *Input) { in.Website.Status.History = releases }
}

// TestSync: a request to sync is started in one write and completed in a later one, with the commit
// that all ready pods serve then.
func TestSync(t *testing.T) {
	served := v1beta1.WebsiteRelease{Commit: commitA, PublishedTime: metav1.NewTime(testNow.Add(-time.Hour)),
		Cause: v1beta1.ReleaseCausePoll}
	for name, test := range map[string]struct {
		tweaks []func(*Input)
		// started is the ID of the started request, and completed the ID of the completed one.
		started, completed int64
		result             v1beta1.SyncResult
		reason, message    string
	}{
		"no request":                   {},
		"a request":                    {tweaks: []func(*Input){requested(), mayStart}, started: firstRequest},
		"a request soon after another": {tweaks: []func(*Input){requested()}},
		"started":                      {tweaks: []func(*Input){requested(isStarted)}, started: firstRequest},
		"started, and the pods have answered one of that id before a restore": {tweaks: []func(*Input){requested(isStarted),
			synced(commitA), func(in *Input) {
				in.Pods[0].Synced, in.Pods[1].Synced = "7.0", "7.0"
			}}, started: firstRequest},
		"one pod has answered": {tweaks: []func(*Input){requested(isStarted), synced(commitA),
			func(in *Input) { in.Pods[1].Synced = "" }}, started: firstRequest},
		"all pods have answered": {tweaks: []func(*Input){requested(isStarted), synced(commitA)}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded, reason: v1beta1.WebsiteReasonCommitPublished,
			message: commitA},
		"a pod that is not ready has not": {tweaks: []func(*Input){requested(isStarted), synced(commitA),
			func(in *Input) { in.Pods[1].Ready, in.Pods[1].Synced = false, "" }}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded, reason: v1beta1.WebsiteReasonCommitPublished},
		"pods serve different commits": {tweaks: []func(*Input){requested(isStarted), synced(commitA),
			func(in *Input) { in.Pods[1].Commit = commitB }}, started: firstRequest},
		"requested again while one is running": {tweaks: []func(*Input){requested(isStarted, isRequestedAgain), mayStart},
			started: firstRequest},
		"requested again when one is answered": {tweaks: []func(*Input){requested(isStarted, isRequestedAgain), mayStart,
			synced(commitA)}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded, reason: v1beta1.WebsiteReasonCommitPublished},
		"requested again when one is completed": {tweaks: []func(*Input){requested(isCompleted, isRequestedAgain), mayStart},
			started:   secondRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded},
		"completed": {tweaks: []func(*Input){requested(isCompleted), mayStart, synced(commitB)}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded},

		"for the commit": {tweaks: []func(*Input){requested(isStarted, forCommit(commitA)), synced(commitA)},
			started:   firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded, reason: v1beta1.WebsiteReasonCommitPublished},
		"for another commit": {tweaks: []func(*Input){requested(isStarted, forCommit(commitB)), synced(commitA)},
			started:   firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonRefElsewhere,
			message: "not to " + commitB},
		"for a commit that was served long before": {tweaks: []func(*Input){requested(isStarted, forCommit(commitB)),
			synced(commitA), withHistory(served,
				v1beta1.WebsiteRelease{Commit: commitB, PublishedTime: metav1.NewTime(testNow.Add(-2 * time.Hour))})},
			started:   firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonRefElsewhere},
		"for a commit that was served meanwhile": {tweaks: []func(*Input){requested(isStarted, forCommit(commitB)),
			synced(commitA), withHistory(served,
				v1beta1.WebsiteRelease{Commit: commitB, PublishedTime: metav1.NewTime(testNow.Add(-10 * time.Second))})},
			started:   firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded, reason: v1beta1.WebsiteReasonCommitPublished},
		"for the commit of the next request": {tweaks: []func(*Input){requested(isStarted, isRequestedAgain,
			forCommit(commitB)), synced(commitA)}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded, reason: v1beta1.WebsiteReasonCommitPublished},

		"a pod cannot fetch": {tweaks: []func(*Input){requested(isStarted), synced(commitA),
			func(in *Input) { in.Pods[1].Failure = git.ReasonAuthentication }}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonAuthenticationFailed,
			message: "requires credentials"},
		"a pod could not fetch before": {
			tweaks:  []func(*Input){requested(isStarted), func(in *Input) { in.Pods[1].Failure = git.ReasonAuthentication }},
			started: firstRequest,
		},
		"the path is missing": {tweaks: []func(*Input){requested(isStarted), synced(commitA),
			func(in *Input) { in.Pods[0].PathNotFound = true }}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonPathNotFound},

		"a path with a long name is missing": {tweaks: []func(*Input){requested(isStarted), synced(commitA), func(in *Input) {
			in.Website.Spec.Source.Path, in.Pods[0].PathNotFound = strings.Repeat("a", 2000), true
		}}, started: firstRequest, completed: firstRequest, result: v1beta1.SyncFailed,
			reason: v1beta1.WebsiteReasonPathNotFound, message: "aaa..."},

		"pinned to the newest commit": {tweaks: []func(*Input){requested(isStarted), pinnedTo(commitA), synced(commitA)},
			started:   firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded, reason: v1beta1.WebsiteReasonCommitPublished},
		"pinned to another commit": {tweaks: []func(*Input){requested(isStarted), pinnedTo(commitA), synced(commitB)},
			started:   firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonPinned,
			message: "commit " + commitB + " is fetched"},
		"pinned, for the pinned commit": {tweaks: []func(*Input){requested(isStarted, forCommit(commitA)), pinnedTo(commitA),
			synced(commitB)}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncSucceeded, reason: v1beta1.WebsiteReasonCommitPublished},
		"pinned, for another commit": {tweaks: []func(*Input){requested(isStarted, forCommit(commitB)), pinnedTo(commitA),
			synced(commitB)}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonPinned,
			message: commitB + " is not served"},

		"suspended": {tweaks: []func(*Input){requested(), mayStart, func(in *Input) { in.Website.Spec.Suspend = new(true) }},
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonSuspended},
		"offline, another was started recently": {
			tweaks: []func(*Input){requested(), func(in *Input) { in.Website.Spec.Replicas = ptr.To[int32](0) }},
		},
		"offline": {tweaks: []func(*Input){requested(), mayStart,
			func(in *Input) { in.Website.Spec.Replicas = ptr.To[int32](0) }},
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonScaledToZero},
		"not observed": {tweaks: []func(*Input){requested(isStarted, isRequestedAgain),
			func(in *Input) { in.Probing = false }}, started: firstRequest,
			completed: secondRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonNotObserved},

		"nearly late": {tweaks: []func(*Input){requested(isStarted), begun(269 * time.Second)}, started: firstRequest},
		"late": {tweaks: []func(*Input){requested(isStarted), begun(270 * time.Second)}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonSyncTimedOut,
			message: "within 4m30s"},
		"late, and a pod does not answer": {tweaks: []func(*Input){requested(isStarted), begun(270 * time.Second),
			func(in *Input) { in.Pods[0].Reachable = false }}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonPodsUnreachable},
		"late, and no pod is ready": {tweaks: []func(*Input){requested(isStarted), begun(270 * time.Second),
			func(in *Input) { in.Pods = nil }}, started: firstRequest,
			completed: firstRequest, result: v1beta1.SyncFailed, reason: v1beta1.WebsiteReasonNoReadyPods},
		"no pod is ready yet": {tweaks: []func(*Input){requested(isStarted), begun(time.Second),
			func(in *Input) { in.Pods = nil }}, started: firstRequest},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(test.tweaks...)
			before := in.Website.DeepCopy()
			sync := Compute(in).Sync
			if !equalStatus(before.Status, in.Website.Status) {
				t.Error("the reported status is changed")
			}
			if sync == nil {
				sync = &v1beta1.WebsiteSyncStatus{}
			}
			if sync.StartedID != test.started {
				t.Errorf("started %v, want %v", sync.StartedID, test.started)
			}
			completed := sync.LastCompleted
			if completed == nil {
				completed = &v1beta1.WebsiteSyncCompletion{}
			} else if completed.ID != test.completed {
				t.Errorf("completed %v, want %v", completed.ID, test.completed)
			}
			if len(completed.Message) > 1024 {
				t.Errorf("the message has %d bytes", len(completed.Message))
			}
			if completed.Result != test.result || completed.Reason != test.reason ||
				!strings.Contains(completed.Message, test.message) {
				t.Errorf("%s %s: %s, want %s %s: %q in it", completed.Result, completed.Reason, completed.Message, test.result,
					test.reason, test.message)
			}
		})
	}
}

// TestSyncIsRechecked: a request is overdue without an event.
func TestSyncIsRechecked(t *testing.T) {
	if got := recheck(newInput(requested(isStarted), begun(220*time.Second))); got != 50*time.Second {
		t.Errorf("after %v, want 50s", got)
	}
	if got := recheck(newInput(requested(isCompleted), begun(100*time.Second))); got != 0 {
		t.Errorf("after %v though nothing is running", got)
	}
}

// pinTo returns a pin; nil without a commit.
func pinTo(commit string) *v1beta1.WebsitePin {
	if commit == "" {
		return nil
	}
	return &v1beta1.WebsitePin{Commit: commit}
}
