package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteSyncStatus is the last request to fetch the repository at once. Requests are
// recorded by the server, their progress by the controller.
type WebsiteSyncStatus struct {
	// RequestedTime is the time of the request.
	RequestedTime metav1.MicroTime
	// RequestedBy is the name of the user.
	RequestedBy string
	// Commit is the requested commit; empty for the newest one.
	Commit string
	// StartedTime is the requestedTime of the last request that the controller has
	// started.
	StartedTime *metav1.MicroTime
	// Completed is the outcome of the last completed request.
	Completed *WebsiteSyncCompletion
}

// WebsiteSyncCompletion is the outcome of a request. It also answers all earlier
// requests.
type WebsiteSyncCompletion struct {
	// RequestedTime is that of the request.
	RequestedTime metav1.MicroTime
	// CompletedTime is when the outcome was known.
	CompletedTime metav1.MicroTime
	// Result is whether the request succeeded.
	Result SyncResult
	// Reason is the reason of a failure.
	Reason string
	// Message describes the outcome.
	Message string
	// Commit is the commit that all ready pods served.
	Commit string
}

// SyncResult is the outcome of a request to fetch the repository at once.
type SyncResult string

const (
	// SyncSucceeded means that all ready pods served the requested commit.
	SyncSucceeded SyncResult = "Succeeded"
	// SyncFailed means that they did not.
	SyncFailed SyncResult = "Failed"
)

// WebsiteRelease is a published commit.
type WebsiteRelease struct {
	// Commit is the commit.
	Commit string
	// Subject is the first line of its message.
	Subject string
	// Author is the name of its author.
	Author string
	// PublishedTime is when all ready pods served it.
	PublishedTime metav1.Time
	// DelayMilliseconds is the time until then; nil if it is not known.
	DelayMilliseconds *int64
	// Cause is why it was published.
	Cause ReleaseCause
}

// ReleaseCause is why a commit was published.
type ReleaseCause string

const (
	// ReleaseCausePoll is a fetch at the polling interval.
	ReleaseCausePoll ReleaseCause = "Poll"
	// ReleaseCauseSync is a request to fetch at once.
	ReleaseCauseSync ReleaseCause = "Sync"
	// ReleaseCauseSpec is a change of the spec.
	ReleaseCauseSpec ReleaseCause = "Spec"
	// ReleaseCauseRollback is a change of the spec by the rollback subresource.
	ReleaseCauseRollback ReleaseCause = "Rollback"
)
