package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelPreviewOf is the label of a preview, with the name of the Website that it is a
// preview of.
const LabelPreviewOf = GroupName + "/preview-of"

// WebsitePreviews gives branches of the repository a site each.
type WebsitePreviews struct {
	// Branches are patterns of the names of branches.
	Branches []string
	// MaxCount is the largest number of previews.
	MaxCount int32
	// TTLSeconds is how long a preview is kept without a new commit; nil for as long as
	// there is the branch.
	TTLSeconds *int32
	// Domain is what the hosts of previews end with; empty for the default of the controller.
	Domain string
	// Access restricts who may read the previews. A member that is not set is that of the
	// Website.
	Access WebsiteAccess
}

// WebsitePreviewStatus is what was observed of a branch that has, or has had, a preview.
type WebsitePreviewStatus struct {
	// Branch is the name of the branch.
	Branch string
	// WebsiteName is the name of the preview; empty when it is removed because of its age.
	WebsiteName string
	// Commit is the last commit of the branch.
	Commit string
	// LastCommitTime is when that commit was first observed.
	LastCommitTime metav1.Time
}
