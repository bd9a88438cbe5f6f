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

	// wait is how long to wait until all ready pods serve the requested commit,
	// as a duration such as 50s, at most 5m. kube-apiserver ends requests after
	// its --request-timeout, by default 60s. Defaults to no waiting.
	// +optional
	Wait string `json:"wait,omitempty" protobuf:"bytes,1,opt,name=wait"`

	// dryRun is All to check the request without recording it. Defaults to none.
	// +optional
	// +listType=atomic
	DryRun []string `json:"dryRun,omitempty" protobuf:"bytes,2,rep,name=dryRun"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteSyncRequest is the response of the subresource sync: the last request to
// fetch the repository at once, and its state.
type WebsiteSyncRequest struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// metadata identifies the Website.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// state is None (there was no request), Pending (not started), Running,
	// Succeeded or Failed.
	// +required
	State SyncState `json:"state" protobuf:"bytes,2,opt,name=state,casttype=SyncState"`

	// request is the last request, as in status.sync of the Website.
	// +optional
	// +k8s:optional
	Request *WebsiteSyncStatus `json:"request,omitempty" protobuf:"bytes,3,opt,name=request"`
}

// SyncState is the state of a request to fetch the repository at once.
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

// +k8s:conversion-gen:explicit-from=net/url.Values
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteRollbackOptions are the query parameters of the subresource rollback.
type WebsiteRollbackOptions struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`

	// dryRun is All to check the request without changing the Website. Defaults to
	// none.
	// +optional
	// +listType=atomic
	DryRun []string `json:"dryRun,omitempty" protobuf:"bytes,1,rep,name=dryRun"`

	// fieldManager is the name of the manager of spec.pin, of at most 128
	// printable characters. Defaults to the name in the User-Agent header.
	// +optional
	FieldManager string `json:"fieldManager,omitempty" protobuf:"bytes,2,opt,name=fieldManager"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteRollback is the request and the response of the subresource rollback,
// which sets spec.pin.
type WebsiteRollback struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// metadata identifies the Website, in responses. Its generation is that of the
	// changed spec.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// commit is the commit to serve: 40 or 64 hexadecimal digits in lower case.
	// Defaults to the newest commit in status.history that is not being served.
	// +optional
	Commit string `json:"commit,omitempty" protobuf:"bytes,2,opt,name=commit"`

	// replacedCommit is the commit that was served before, in responses.
	// +optional
	ReplacedCommit string `json:"replacedCommit,omitempty" protobuf:"bytes,3,opt,name=replacedCommit"`
}
