package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteSyncOptions are the query parameters of the sync subresource.
type WebsiteSyncOptions struct {
	metav1.TypeMeta

	// TimeoutSeconds is the time to wait until the request is completed; nil for no waiting.
	TimeoutSeconds *int64
	// DryRun is All to change nothing.
	DryRun []string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteSyncRequest is the request and the response of the sync subresource.
type WebsiteSyncRequest struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Commit is the commit to publish, in requests; nil for the newest one.
	Commit *string
	// ID is the id of the request, in responses.
	ID int64
	// State is the state of the request, in responses.
	State SyncState
	// Sync is the status of the Website, in responses; nil without a request.
	Sync *WebsiteSyncStatus
}

// SyncState is the state of a request to fetch the repository at once.
type SyncState string

const (
	// SyncStateNone means that there was no request.
	SyncStateNone SyncState = "None"
	// SyncStatePending means that the controller has not started the request.
	SyncStatePending SyncState = "Pending"
	// SyncStateRunning means that the pods fetch the repository.
	SyncStateRunning SyncState = "Running"
	// SyncStateSucceeded means that all ready pods served the requested commit.
	SyncStateSucceeded SyncState = "Succeeded"
	// SyncStateFailed means that they did not.
	SyncStateFailed SyncState = "Failed"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteRollback is the request and the response of the rollback subresource.
type WebsiteRollback struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Commit is the commit to pin; nil in a request for the release before.
	Commit *string
	// ReplacedCommit is the commit that was served, in responses.
	ReplacedCommit string
}
