package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// The scheme requires a type of its own for each kind of the internal version. Their members have the types of v1beta1,
// which has all fields and is the version in which Websites are stored.

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Website is a site published from a git repository.
type Website struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Spec is the desired state.
	Spec v1beta1.WebsiteSpec
	// Status is the state that the controller last observed.
	Status v1beta1.WebsiteStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta
	metav1.ListMeta

	// Items are the Websites.
	Items []Website
}

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
	State v1beta1.SyncState
	// Sync is the status of the Website, in responses; nil without a request.
	Sync *v1beta1.WebsiteSyncStatus
}

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
