package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteSyncOptions are the query parameters of the subresource sync.
type WebsiteSyncOptions struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`

	// timeoutSeconds is the time to wait until all ready pods serve the requested
	// commit, in seconds, from 0 to 300. kube-apiserver ends requests after its
	// --request-timeout, by default 60 seconds. Defaults to no waiting.
	// +optional
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`

	// dryRun is All to check the request without recording it. Defaults to none.
	// +optional
	// +listType=atomic
	DryRun []string `json:"dryRun,omitempty" protobuf:"bytes,2,rep,name=dryRun"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteSyncRequest is the request and the response of the subresource sync, which
// fetches the repository at once.
type WebsiteSyncRequest struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// metadata identifies the Website, in responses.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// commit is the commit to publish, in requests: 40 or 64 hexadecimal digits in
	// lower case. Defaults to the newest commit of the reference.
	// +optional
	Commit *string `json:"commit,omitempty" protobuf:"bytes,2,opt,name=commit"`

	// id is the id of the request that was recorded or joined, and of the last one in
	// responses to GET. It is answered when sync.lastCompleted.id is not below it.
	// +optional
	ID int64 `json:"id,omitempty" protobuf:"varint,3,opt,name=id"`

	// state is the state of that request, in responses: None (there was no request),
	// Pending (not started), Running, Succeeded or Failed. More values can be added.
	// +optional
	State SyncState `json:"state,omitempty" protobuf:"bytes,4,opt,name=state,casttype=SyncState"`

	// sync is status.sync of the Website, in responses.
	// +optional
	// +k8s:optional
	Sync *WebsiteSyncStatus `json:"sync,omitempty" protobuf:"bytes,5,opt,name=sync"`
}

// SyncState is the state of a request to fetch the repository at once. More values
// may be added. A client should take one that it does not know for Running.
// +enum
type SyncState string

const (
	// SyncStateNone means that there was no request.
	SyncStateNone SyncState = "None"
	// SyncStatePending means that website-controller has not started the request.
	SyncStatePending SyncState = "Pending"
	// SyncStateRunning means that the pods fetch the repository.
	SyncStateRunning SyncState = "Running"
	// SyncStateSucceeded means that all ready pods served the requested commit.
	SyncStateSucceeded SyncState = "Succeeded"
	// SyncStateFailed means that they did not.
	SyncStateFailed SyncState = "Failed"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteRollback is the request and the response of the subresource rollback,
// which sets spec.pin.
type WebsiteRollback struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// metadata identifies the Website. In requests, uid and resourceVersion are
	// preconditions; in responses, generation is the generation of the changed spec.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// commit is the commit to serve: 40 or 64 hexadecimal digits in lower case.
	// Defaults to the newest commit in status.history that is not being served.
	// +optional
	Commit *string `json:"commit,omitempty" protobuf:"bytes,2,opt,name=commit"`

	// replacedCommit is the commit that was served before, in responses.
	// +optional
	ReplacedCommit string `json:"replacedCommit,omitempty" protobuf:"bytes,3,opt,name=replacedCommit"`
}
