package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteSyncStatus is the last request to fetch the repository at once. It is
// pending while startedTime is before requestedTime, and answered when
// completed.requestedTime is not before its own requestedTime.
type WebsiteSyncStatus struct {
	// requestedTime is the time of the request. Written by the server only.
	// +required
	// +k8s:opaqueType
	RequestedTime metav1.MicroTime `json:"requestedTime" protobuf:"bytes,1,opt,name=requestedTime"`

	// requestedBy is the name of the user who made the request, of at most 1024
	// characters. Written by the server only.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	RequestedBy string `json:"requestedBy,omitempty" protobuf:"bytes,2,opt,name=requestedBy"`

	// commit is the commit to publish: 40 or 64 hexadecimal digits. Empty for the
	// newest commit of the reference. Written by the server only.
	// +optional
	Commit string `json:"commit,omitempty" protobuf:"bytes,3,opt,name=commit"`

	// startedTime is the requestedTime of the last request that
	// website-controller has started. It is written before the pods are requested
	// to fetch, because later requests join a pending one.
	// +optional
	// +k8s:opaqueType
	StartedTime *metav1.MicroTime `json:"startedTime,omitempty" protobuf:"bytes,4,opt,name=startedTime"`

	// completed is the outcome of the last completed request.
	// +optional
	// +k8s:optional
	Completed *WebsiteSyncCompletion `json:"completed,omitempty" protobuf:"bytes,5,opt,name=completed"`
}

// WebsiteSyncCompletion is the outcome of a request to fetch the repository at
// once. It also answers all earlier requests.
type WebsiteSyncCompletion struct {
	// requestedTime is the requestedTime of the completed request.
	// +required
	// +k8s:opaqueType
	RequestedTime metav1.MicroTime `json:"requestedTime" protobuf:"bytes,1,opt,name=requestedTime"`

	// completedTime is when the outcome was observed.
	// +required
	// +k8s:opaqueType
	CompletedTime metav1.MicroTime `json:"completedTime" protobuf:"bytes,2,opt,name=completedTime"`

	// result is Succeeded if all ready pods served the requested commit, else
	// Failed.
	// +required
	// +k8s:required
	Result SyncResult `json:"result" protobuf:"bytes,3,opt,name=result,casttype=SyncResult"`

	// reason is the reason of a failure, in CamelCase, of at most 128 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=128
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`

	// message describes the outcome, in at most 1024 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`

	// commit is the commit that all ready pods served then: 40 or 64 hexadecimal
	// digits. Empty if they did not serve the same one.
	// +optional
	Commit string `json:"commit,omitempty" protobuf:"bytes,6,opt,name=commit"`
}

// SyncResult is the outcome of a request to fetch the repository at once. More
// values may be added. A client should take one that it does not know for Failed.
// +enum
// +k8s:enum
type SyncResult string

const (
	// SyncSucceeded means that all ready pods served the requested commit.
	SyncSucceeded SyncResult = "Succeeded"
	// SyncFailed means that they did not.
	SyncFailed SyncResult = "Failed"
)

// WebsiteRelease is a published commit.
type WebsiteRelease struct {
	// commit is the git commit: 40 or 64 hexadecimal digits.
	// +required
	Commit string `json:"commit" protobuf:"bytes,1,opt,name=commit"`

	// subject is the first line of the commit message, of at most 200 bytes.
	// +optional
	// +k8s:optional
	// +k8s:maxBytes=200
	Subject string `json:"subject,omitempty" protobuf:"bytes,2,opt,name=subject"`

	// author is the name of the author, of at most 100 bytes.
	// +optional
	// +k8s:optional
	// +k8s:maxBytes=100
	Author string `json:"author,omitempty" protobuf:"bytes,3,opt,name=author"`

	// publishedTime is when all ready pods served the commit.
	// +required
	// +k8s:opaqueType
	PublishedTime metav1.Time `json:"publishedTime" protobuf:"bytes,4,opt,name=publishedTime"`

	// delayMilliseconds is the time from the request, or from the first
	// observation of the commit, until all ready pods served it, in milliseconds.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	DelayMilliseconds *int64 `json:"delayMilliseconds,omitempty" protobuf:"varint,5,opt,name=delayMilliseconds"`

	// cause is why the commit was published: Poll (a fetch at the polling
	// interval), Sync (a request to the subresource sync), Spec (a change of the
	// spec) or Rollback (a request to the subresource rollback).
	// +required
	// +k8s:required
	Cause ReleaseCause `json:"cause" protobuf:"bytes,6,opt,name=cause,casttype=ReleaseCause"`
}

// ReleaseCause is why a commit was published. More values may be added. A client
// should show one that it does not know as it is.
// +enum
// +k8s:enum
type ReleaseCause string

const (
	// ReleaseCausePoll is a fetch at the polling interval.
	ReleaseCausePoll ReleaseCause = "Poll"
	// ReleaseCauseSync is a request to the subresource sync.
	ReleaseCauseSync ReleaseCause = "Sync"
	// ReleaseCauseSpec is a change of the spec.
	ReleaseCauseSpec ReleaseCause = "Spec"
	// ReleaseCauseRollback is a request to the subresource rollback.
	ReleaseCauseRollback ReleaseCause = "Rollback"
)
