package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// syncGrace is the time for a sync in addition to the time limit of a fetch: to prepare a release,
// and to switch to it together.
const syncGrace = 30 * time.Second

// SyncRequest is the remembered state of requests to sync, in addition to the status.
type SyncRequest struct {
	// MayStart is false while another request has been started recently.
	MayStart bool
	// Token identifies the started request to the pods, also after a restore of the store, when IDs
	// are assigned again. It is empty without a started request.
	Token string
	// Begun is the start of the started request, and Observed the time of its first observation, or
	// zero.
	Begun, Observed time.Time
}

// IsSyncPending reports whether a request to sync has not been started.
func IsSyncPending(sync *v1beta1.WebsiteSyncStatus) bool {
	return sync != nil && sync.LastRequest.ID > max(sync.StartedID, completedSync(sync))
}

// completedSync returns the ID of the last completed request to sync, or 0.
func completedSync(sync *v1beta1.WebsiteSyncStatus) int64 {
	if sync.LastCompleted == nil {
		return 0
	}
	return sync.LastCompleted.ID
}

// RunningSync returns the ID of the request to sync that is started and not completed, or 0.
func RunningSync(sync *v1beta1.WebsiteSyncStatus) int64 {
	if sync == nil || sync.StartedID <= completedSync(sync) {
		return 0
	}
	return sync.StartedID
}

// sync returns the status of requests to sync. A request is started in one write and passed to its
// pods after that: commits that are pushed before that write are fetched, and later pushes make
// requests of their own. A request that no pod can perform is completed without having been started.
func (in *Input) sync(history []v1beta1.WebsiteRelease) *v1beta1.WebsiteSyncStatus {
	sync := in.Website.Status.Sync.DeepCopy()
	running := RunningSync(sync)
	if running == 0 && (!IsSyncPending(sync) || !in.SyncRequest.MayStart) {
		return sync
	}
	if refused := in.syncRefused(); refused != nil {
		sync.LastCompleted = in.syncCompleted(sync.LastRequest.ID, v1beta1.SyncFailed, refused)
		return sync
	}
	if running == 0 {
		sync.StartedID = sync.LastRequest.ID
		return sync
	}
	if result, found := in.syncResult(sync, history); found != nil {
		sync.LastCompleted = in.syncCompleted(running, result, found)
	}
	return sync
}

func (in *Input) syncCompleted(id int64, result v1beta1.SyncResult, found *finding) *v1beta1.WebsiteSyncCompletion {
	commit, _ := commitOf(in.Pods)
	return &v1beta1.WebsiteSyncCompletion{
		ID: id, Time: metav1.NewTime(in.Now),
		Result: result, Reason: found.reason, Message: problem.Shorten(found.message), Commit: commit,
	}
}

// syncRefused returns the reason why no pod can be requested to sync.
func (in *Input) syncRefused() *finding {
	switch {
	case resources.IsSuspended(in.Website):
		return &finding{reason: v1beta1.WebsiteReasonSuspended,
			message: "spec.suspend is true: nothing new is published; set it to false"}
	case in.wantedReplicas() == 0:
		return &finding{reason: v1beta1.WebsiteReasonScaledToZero,
			message: "spec.replicas is 0: no pod fetches the repository"}
	case !in.Probing:
		return notObserved(in)
	default:
		return nil
	}
}

// syncResult returns the result of the started request to sync, or nothing while it runs.
func (in *Input) syncResult(sync *v1beta1.WebsiteSyncStatus,
	history []v1beta1.WebsiteRelease) (v1beta1.SyncResult, *finding) {
	waits := false
	for _, pod := range in.Pods {
		switch {
		case !pod.Ready:
		case !pod.Observed || !pod.Reachable || pod.Synced != in.SyncRequest.Token:
			waits = true
		case pod.PathNotFound:
			return v1beta1.SyncFailed, pathNotFound(in.Website, pod)
		case pod.Failure != "":
			return v1beta1.SyncFailed, explainFetch(in.Website, pod.Failure)
		}
	}
	commit, state := commitOf(in.Pods)
	if waits || state != commitAgreed {
		return v1beta1.SyncFailed, in.syncOverdue(state)
	}
	wanted := ""
	if sync.StartedID == sync.LastRequest.ID {
		wanted = sync.LastRequest.Commit
	}
	newest := in.newestCommit()
	switch pin := in.Website.Spec.PinnedCommit(); {
	case pin != "" && wanted == "" && newest != "" && newest != commit:
		return v1beta1.SyncFailed, &finding{
			reason: v1beta1.WebsiteReasonPinned, message: "commit " + newest + " is fetched and not served: spec.pin is " + pin +
				"; remove it to serve the newest commit",
		}
	case wanted == "" || wanted == commit || servedSince(history, wanted, sync.LastRequest.Time.Time):
		return v1beta1.SyncSucceeded, &finding{reason: v1beta1.WebsiteReasonCommitPublished,
			message: "all ready pods serve commit " + commit}
	case pin != "":
		return v1beta1.SyncFailed, &finding{reason: v1beta1.WebsiteReasonPinned,
			message: "commit " + wanted + " is not served: spec.pin is " + pin}
	default:
		return v1beta1.SyncFailed, &finding{reason: v1beta1.WebsiteReasonRefElsewhere,
			message: "spec.source.git.ref leads to commit " + commit + ", not to " + wanted}
	}
}

// servedSince reports whether a commit was published after a time. It may have been replaced since.
func servedSince(history []v1beta1.WebsiteRelease, commit string, since time.Time) bool {
	for _, release := range history {
		if release.Commit == commit && !release.PublishedTime.Time.Before(since) {
			return true
		}
	}
	return false
}

// syncLimit is the maximum time of a request to sync: it waits for the end of a running fetch, which
// may have begun before the push, and then for its own fetch.
func (in *Input) syncLimit() time.Duration {
	return 2*time.Duration(in.Website.Spec.Polling.TimeoutSeconds)*time.Second + syncGrace
}

// syncOverdue returns the result if pods have not completed a request to sync in time, or nothing.
func (in *Input) syncOverdue(state commitState) *finding {
	if in.SyncRequest.Begun.IsZero() || in.Now.Sub(in.SyncRequest.Begun) < in.syncLimit() {
		return nil
	}
	for _, find := range []finder{fetchProblem, podsUnreachable, syncUnreachable} {
		if found := find(in); found != nil {
			return found
		}
	}
	if state == commitNone {
		return &finding{reason: v1beta1.WebsiteReasonNoReadyPods,
			message: fmt.Sprintf("no pod is ready after %v", in.syncLimit())}
	}
	return &finding{reason: v1beta1.WebsiteReasonSyncTimedOut,
		message: fmt.Sprintf("not all ready pods have finished a fetch within %v", in.syncLimit())}
}

// newestCommit returns the last fetched commit if it is the same for all ready pods, or nothing.
func (in *Input) newestCommit() string {
	newest := ""
	for _, pod := range in.Pods {
		switch {
		case !pod.Ready || !pod.Observed:
		case pod.Newest == "" || newest != "" && pod.Newest != newest:
			return ""
		default:
			newest = pod.Newest
		}
	}
	return newest
}
