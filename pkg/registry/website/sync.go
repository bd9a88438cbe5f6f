package website

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// joinLimit is the time for which a pending request is joined by others.
	joinLimit = time.Minute
	// maxBy is the maximum length of status.sync.lastRequest.by in characters.
	maxBy = 1024
	// reasonPinned is the reason for a request that publishes nothing.
	reasonPinned = "Pinned"
	// reasonNotPublished is the reason for a failed request for a commit while the pods serve another.
	reasonNotPublished = "CommitNotPublished"
	// reasonSuspended and reasonScaledToZero are the reasons for rejected requests.
	reasonSuspended    = "Suspended"
	reasonScaledToZero = "ScaledToZero"
)

// SyncStateOf returns the state of the request with that id.
func SyncStateOf(sync *v1beta1.WebsiteSyncStatus, id int64) v1beta1.SyncState {
	switch {
	case sync == nil:
		return v1beta1.SyncStateNone
	case answered(sync, id):
		if sync.LastCompleted.Result == v1beta1.SyncSucceeded {
			return v1beta1.SyncStateSucceeded
		}
		return v1beta1.SyncStateFailed
	case sync.StartedID >= id:
		return v1beta1.SyncStateRunning
	}
	return v1beta1.SyncStatePending
}

// lastSyncID returns the id of the last request, 0 without one.
func lastSyncID(sync *v1beta1.WebsiteSyncStatus) int64 {
	if sync == nil {
		return 0
	}
	return sync.LastRequest.ID
}

// answered reports whether the request with that id is completed.
func answered(sync *v1beta1.WebsiteSyncStatus, id int64) bool {
	return sync.LastCompleted != nil && sync.LastCompleted.ID >= id
}

// RecordSync records a request for a commit, or for the newest one if commit is empty. It
// joins a request that the controller has not started yet, and widens that to the newest
// commit if it is for another one, so that a burst of requests takes two writes. It does not
// join an old one: a restored store may have a request that pods have completed before.
func RecordSync(status *v1beta1.WebsiteStatus, commit, user string, now time.Time) {
	previous := status.Sync
	if SyncStateOf(previous, lastSyncID(previous)) == v1beta1.SyncStatePending {
		isRecent := now.Sub(previous.LastRequest.Time.Time) < joinLimit
		if isRecent && (previous.LastRequest.Commit == "" || previous.LastRequest.Commit == commit) {
			return
		}
		if previous.LastRequest.Commit != commit {
			commit = ""
		}
	}
	recorded := &v1beta1.WebsiteSyncStatus{}
	if previous != nil {
		*recorded = *previous
	}
	recorded.LastRequest = v1beta1.WebsiteSyncRecord{
		ID: lastSyncID(previous) + 1, Time: metav1.NewTime(now.Truncate(time.Second)), By: shortened(user), Commit: commit,
	}
	status.Sync = recorded
}

func shortened(user string) string {
	if utf8.RuneCountInString(user) <= maxBy {
		return user
	}
	return string([]rune(user)[:maxBy])
}

// RefuseSync returns the reason why every request fails, or nil.
func RefuseSync(w *website.Website) error {
	switch {
	case isSuspended(&w.Spec):
		return unprocessable(w, reasonSuspended, "spec.suspend", "the Website is suspended: set spec.suspend to false")
	case ptr.Deref(w.Spec.Replicas, 1) == 0:
		return unprocessable(w, reasonScaledToZero, "spec.replicas",
			"the Website has no pods: set spec.replicas to 1 or more")
	}
	return nil
}

// RefusePinned returns an error if the Website serves its pin and not the requested
// commit. The request is recorded all the same: the repository is fetched.
func RefusePinned(w *website.Website, commit string) error {
	if pin := w.Spec.PinnedCommit(); pin == "" || pin == commit {
		return nil
	}
	return unprocessable(w, reasonPinned, "spec.pin", fmt.Sprintf("the repository is fetched, but the Website serves "+
		"the commit of spec.pin, %s: remove spec.pin to publish the newest commit", w.Spec.PinnedCommit()))
}

// SyncOutcome reports whether the recorded request is completed, and why it failed. commit
// is the commit of a client that may have joined it.
func SyncOutcome(w *website.Website, request v1beta1.WebsiteSyncRecord, commit string) (completed bool, failure error) {
	sync := w.Status.Sync
	if sync == nil || !answered(sync, request.ID) {
		return false, nil
	}
	completion := sync.LastCompleted
	switch {
	case completion.Result != v1beta1.SyncSucceeded:
		return true, unprocessable(w, completion.Reason, "", completion.Message)
	case commit == "" || completion.Commit == commit || publishedSince(w.Status.History, commit, request.Time.Time):
		return true, nil
	case sync.LastRequest.ID == completion.ID && sync.LastRequest.Commit == commit:
		return true, nil
	}
	return true, unprocessable(w, reasonNotPublished, "", fmt.Sprintf("the commit was not published: all pods serve %s",
		completion.Commit))
}

// publishedSince reports whether the commit was published after the request, even if
// another one was afterwards.
func publishedSince(history []v1beta1.WebsiteRelease, commit string, requested time.Time) bool {
	return slices.ContainsFunc(history, func(r v1beta1.WebsiteRelease) bool {
		return r.Commit == commit && !r.PublishedTime.Time.Before(requested)
	})
}

// unprocessable is the response to a request that the state of the Website or of its repository
// does not allow. It is not a conflict, which clients repeat at once. The type of its cause is the
// reason, as in conditions.
func unprocessable(w *website.Website, reason, path, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusUnprocessableEntity,
		Reason:  metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("Website %q: %s", w.Name, message),
		Details: &metav1.StatusDetails{
			Group: website.GroupName, Kind: "Website", Name: w.Name, UID: w.UID,
			Causes: []metav1.StatusCause{{Type: metav1.CauseType(reason), Field: path, Message: message}},
		},
	}}
}

// NewSyncRequest returns the last request of a Website in the form of the sync subresource.
func NewSyncRequest(w *website.Website) *website.WebsiteSyncRequest {
	return SyncResponse(w, lastSyncID(w.Status.Sync))
}

// SyncResponse returns the request with that id in the form of the sync subresource.
func SyncResponse(w *website.Website, id int64) *website.WebsiteSyncRequest {
	return &website.WebsiteSyncRequest{ObjectMeta: identityOf(w), ID: id, State: SyncStateOf(w.Status.Sync, id),
		Sync: w.Status.Sync}
}

// identityOf returns the identity of a Website and its version.
func identityOf(w *website.Website) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace, UID: w.UID, ResourceVersion: w.ResourceVersion,
		Generation: w.Generation, CreationTimestamp: w.CreationTimestamp}
}

// SyncStrategy is the strategy of the sync subresource, which changes the request in
// the status only.
type SyncStrategy struct {
	StatusStrategy
}

// NewSyncStrategy returns the sync counterpart of strategy.
func NewSyncStrategy(strategy Strategy) SyncStrategy {
	return SyncStrategy{StatusStrategy: NewStatusStrategy(strategy)}
}

// PrepareForUpdate keeps everything but the request.
func (SyncStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, previous := obj.(*website.Website), old.(*website.Website)
	sync := updated.Status.Sync
	resourceVersion := updated.ResourceVersion
	previous.DeepCopyInto(updated)
	updated.Status.Sync, updated.ResourceVersion = sync, resourceVersion
}

var (
	_ rest.RESTUpdateStrategy            = SyncStrategy{}
	_ rest.DeclarativeValidationStrategy = SyncStrategy{}
)
