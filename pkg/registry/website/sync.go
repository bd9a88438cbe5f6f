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
)

const (
	// maxRequestedBy is the maximum length of status.sync.requestedBy in characters.
	maxRequestedBy = 1024
	// reasonPinned is why a request publishes nothing.
	reasonPinned = "Pinned"
	// reasonNotPublished is why a request for a commit failed when the pods serve another.
	reasonNotPublished = "CommitNotPublished"
)

// SyncStateOf returns the state of the last request.
func SyncStateOf(sync *website.WebsiteSyncStatus) website.SyncState {
	switch {
	case sync == nil:
		return website.SyncStateNone
	case answered(sync, sync.RequestedTime):
		if sync.Completed.Result == website.SyncSucceeded {
			return website.SyncStateSucceeded
		}
		return website.SyncStateFailed
	case sync.StartedTime != nil && !sync.StartedTime.Time.Before(sync.RequestedTime.Time):
		return website.SyncStateRunning
	}
	return website.SyncStatePending
}

// answered reports whether the request of that time is completed.
func answered(sync *website.WebsiteSyncStatus, requested metav1.MicroTime) bool {
	return sync.Completed != nil && !sync.Completed.RequestedTime.Time.Before(requested.Time)
}

// RecordSync records a request for a commit, or for the newest one if commit is empty.
// A request that the controller has not started yet is joined, and widened to the newest
// commit if it is for another one, so that a burst of requests takes two writes. The
// time grows with each recorded request, whatever the clocks of the replicas.
func RecordSync(status *website.WebsiteStatus, commit, user string, now time.Time) {
	previous := status.Sync
	if SyncStateOf(previous) == website.SyncStatePending {
		if previous.Commit == "" || previous.Commit == commit {
			return
		}
		commit = ""
	}
	recorded := &website.WebsiteSyncStatus{
		RequestedTime: metav1.NewMicroTime(now.Truncate(time.Microsecond)),
		RequestedBy:   shortened(user),
		Commit:        commit,
	}
	if previous != nil {
		recorded.StartedTime, recorded.Completed = previous.StartedTime, previous.Completed
		if !recorded.RequestedTime.After(previous.RequestedTime.Time) {
			recorded.RequestedTime = metav1.NewMicroTime(previous.RequestedTime.Add(time.Microsecond))
		}
	}
	status.Sync = recorded
}

func shortened(user string) string {
	if utf8.RuneCountInString(user) <= maxRequestedBy {
		return user
	}
	return string([]rune(user)[:maxRequestedBy])
}

// RefuseSync returns why no request can succeed, nil if one can.
func RefuseSync(w *website.Website) error {
	switch {
	case ptr.Deref(w.Spec.Suspend, false):
		return apierrors.NewConflict(website.Resource("websites"), w.Name, fmt.Errorf("the Website is suspended: set spec.suspend to false"))
	case ptr.Deref(w.Spec.Replicas, 1) == 0:
		return apierrors.NewConflict(website.Resource("websites"), w.Name, fmt.Errorf("the Website has no pods: set spec.replicas to 1 or more"))
	}
	return nil
}

// RefusePinned returns an error if the Website serves its pin and not the requested
// commit. The request is recorded all the same: the repository is fetched.
func RefusePinned(w *website.Website, commit string) error {
	if pin := w.Spec.PinnedCommit(); pin == "" || pin == commit {
		return nil
	}
	return syncFailure(w, reasonPinned, fmt.Sprintf("the repository is fetched, but the Website serves the commit of spec.pin, %s: remove spec.pin to publish the newest commit", w.Spec.PinnedCommit()))
}

// SyncOutcome reports whether the request of that time and commit is completed, and why
// it failed.
func SyncOutcome(w *website.Website, requested metav1.MicroTime, commit string) (completed bool, failure error) {
	sync := w.Status.Sync
	if sync == nil || !answered(sync, requested) {
		return false, nil
	}
	completion := sync.Completed
	switch {
	case completion.Result != website.SyncSucceeded:
		return true, syncFailure(w, completion.Reason, completion.Message)
	case commit == "" || completion.Commit == commit || publishedSince(w.Status.History, commit, requested):
		return true, nil
	case sync.RequestedTime.Equal(&completion.RequestedTime) && sync.Commit == commit:
		return true, nil
	}
	return true, syncFailure(w, reasonNotPublished, fmt.Sprintf("the commit was not published: all pods serve %s", completion.Commit))
}

// publishedSince reports whether the commit was published after the request, even if
// another one was afterwards. Times of publications have the precision of seconds.
func publishedSince(history []website.WebsiteRelease, commit string, requested metav1.MicroTime) bool {
	return slices.ContainsFunc(history, func(r website.WebsiteRelease) bool {
		return r.Commit == commit && !r.PublishedTime.Time.Before(requested.Truncate(time.Second))
	})
}

// syncFailure is the response to a request that did not succeed. Its status code is that
// of a conflict with the state of the Website or of its repository.
func syncFailure(w *website.Website, reason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusConflict,
		Reason:  metav1.StatusReason(reason),
		Message: fmt.Sprintf("Website %q is not published: %s", w.Name, message),
		Details: &metav1.StatusDetails{Group: website.GroupName, Kind: "websites", Name: w.Name, UID: w.UID},
	}}
}

// NewSyncRequest returns the last request of a Website as the sync subresource shows it.
func NewSyncRequest(w *website.Website) *website.WebsiteSyncRequest {
	return &website.WebsiteSyncRequest{
		ObjectMeta: identityOf(w),
		State:      SyncStateOf(w.Status.Sync),
		Request:    w.Status.Sync,
	}
}

// identityOf returns what identifies a Website and its version.
func identityOf(w *website.Website) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace, UID: w.UID, ResourceVersion: w.ResourceVersion, Generation: w.Generation, CreationTimestamp: w.CreationTimestamp}
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
