package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteSyncStatus is the state of the requests to fetch the repository at once, which
// have increasing ids, from 1. Requests are recorded by the server, their progress by the
// controller.
type WebsiteSyncStatus struct {
	// LastRequest is the last recorded request.
	LastRequest WebsiteSyncRecord
	// StartedID is the id of the last request that the controller has started; 0 without one.
	StartedID int64
	// LastCompleted is the outcome of the last completed request.
	LastCompleted *WebsiteSyncCompletion
}

// WebsiteSyncRecord is a recorded request.
type WebsiteSyncRecord struct {
	// ID is one more than the ID of the previous request.
	ID int64
	// Time is the time of the request.
	Time metav1.Time
	// By is the name of the user.
	By string
	// Commit is the requested commit; empty for the newest one.
	Commit string
}

// WebsiteSyncCompletion is the outcome of a request. It also answers all earlier
// requests.
type WebsiteSyncCompletion struct {
	// ID is the ID of the request.
	ID int64
	// Time is the time at which the outcome was observed.
	Time metav1.Time
	// Result tells whether the request succeeded.
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
	// PublishedTime is the time from which all ready pods served it.
	PublishedTime metav1.Time
	// ObservedTime is the time at which the controller observed the cause of its
	// publication; nil if that is unknown.
	ObservedTime *metav1.Time
	// Cause is the cause of its publication.
	Cause ReleaseCause
}

// ReleaseCause is the cause of publishing a commit.
type ReleaseCause string

const (
	// ReleaseCausePoll is a fetch that was not requested.
	ReleaseCausePoll ReleaseCause = "Poll"
	// ReleaseCauseSync is a request to fetch at once.
	ReleaseCauseSync ReleaseCause = "Sync"
	// ReleaseCauseSpec is a change of the spec.
	ReleaseCauseSpec ReleaseCause = "Spec"
	// ReleaseCauseRollback is a change of the spec by the rollback subresource.
	ReleaseCauseRollback ReleaseCause = "Rollback"
)
