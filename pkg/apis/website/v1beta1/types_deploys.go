package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteSyncStatus is the state of the requests to fetch the repository at once.
// They have increasing ids, from 1. A request is answered when lastCompleted.id is
// not below its id, running when startedID is not, and pending otherwise. One with an
// id above lastRequest.id was lost when the store was restored. Ids are unique within
// one Website: compare metadata.uid too.
type WebsiteSyncStatus struct {
	// lastRequest is the last recorded request. Written by the server only.
	// +required
	LastRequest WebsiteSyncRecord `json:"lastRequest" protobuf:"bytes,1,opt,name=lastRequest"`

	// startedID is the id of the last request that website-controller has started,
	// absent without one. Later requests do not join it. It cannot decrease.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	StartedID int64 `json:"startedID,omitempty" protobuf:"varint,2,opt,name=startedID"`

	// lastCompleted is the outcome of the last completed request. Its id cannot
	// decrease.
	// +optional
	// +k8s:optional
	LastCompleted *WebsiteSyncCompletion `json:"lastCompleted,omitempty" protobuf:"bytes,3,opt,name=lastCompleted"`
}

// WebsiteSyncRecord is a recorded request to fetch the repository at once. Requests
// that join a pending one share its record.
type WebsiteSyncRecord struct {
	// id is one more than the id of the previous request, and 1 for the first.
	// +required
	// +k8s:required
	// +k8s:minimum=1
	ID int64 `json:"id" protobuf:"varint,1,opt,name=id"`

	// time is the time of the request.
	// +required
	// +k8s:opaqueType
	Time metav1.Time `json:"time" protobuf:"bytes,2,opt,name=time"`

	// by is the name of the user who made the request, of at most 1024 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	By string `json:"by,omitempty" protobuf:"bytes,3,opt,name=by"`

	// commit is the commit to publish: 40 or 64 hexadecimal digits. Empty for the
	// newest commit of the reference.
	// +optional
	Commit string `json:"commit,omitempty" protobuf:"bytes,4,opt,name=commit"`
}

// WebsiteSyncCompletion is the outcome of a request to fetch the repository at
// once. It also answers all earlier requests.
type WebsiteSyncCompletion struct {
	// id is the id of the completed request.
	// +required
	// +k8s:required
	// +k8s:minimum=1
	ID int64 `json:"id" protobuf:"varint,1,opt,name=id"`

	// time is the time at which the outcome was observed.
	// +required
	// +k8s:opaqueType
	Time metav1.Time `json:"time" protobuf:"bytes,2,opt,name=time"`

	// result is Succeeded if all ready pods served the requested commit, else
	// Failed. Treat a value that you do not know as Failed.
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

	// publishedTime is the time from which all ready pods served the commit.
	// +required
	// +k8s:opaqueType
	PublishedTime metav1.Time `json:"publishedTime" protobuf:"bytes,4,opt,name=publishedTime"`

	// observedTime is the time at which website-controller observed the cause: the
	// request to sync, the change of the spec, or the commit in a pod. The time
	// until publishedTime is the delay. Absent if website-controller was started
	// in between.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	ObservedTime *metav1.Time `json:"observedTime,omitempty" protobuf:"bytes,5,opt,name=observedTime"`

	// cause is the cause of the publication: Poll (a fetch that was not requested, at
	// the polling interval or by a pod that starts), Sync (a request to the subresource
	// sync), Spec (a change of the spec) or Rollback (a request to the subresource
	// rollback). More values can be added.
	// +required
	// +k8s:required
	Cause ReleaseCause `json:"cause" protobuf:"bytes,6,opt,name=cause,casttype=ReleaseCause"`
}

// ReleaseCause is the cause of publishing a commit. More values may be added. A
// client should show an unknown one unchanged.
// +enum
// +k8s:enum
type ReleaseCause string

const (
	// ReleaseCausePoll is a fetch that was not requested.
	ReleaseCausePoll ReleaseCause = "Poll"
	// ReleaseCauseSync is a request to the subresource sync.
	ReleaseCauseSync ReleaseCause = "Sync"
	// ReleaseCauseSpec is a change of the spec.
	ReleaseCauseSpec ReleaseCause = "Spec"
	// ReleaseCauseRollback is a request to the subresource rollback.
	ReleaseCauseRollback ReleaseCause = "Rollback"
)
