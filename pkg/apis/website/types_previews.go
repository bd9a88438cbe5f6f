package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelPreviewOf is the label of a preview, with the name of its Website.
const LabelPreviewOf = GroupName + "/preview-of"

// WebsitePreviews gives branches of the repository a site each.
type WebsitePreviews struct {
	// Branches are patterns of the names of branches.
	Branches []string
	// MaxCount is the largest number of previews.
	MaxCount int32
	// TTLSeconds is the time for which a preview is kept without a new commit; nil
	// keeps it as long as the branch exists.
	TTLSeconds *int32
	// Domain is the domain of the hosts of previews; empty for the default of the controller.
	Domain string
	// Access restricts the visitors of previews. An unset member is inherited from
	// the Website.
	Access WebsiteAccess
}

// WebsitePreviewStatus is the observed state of a branch that has, or has had, a preview.
type WebsitePreviewStatus struct {
	// Branch is the name of the branch.
	Branch string
	// WebsiteName is the name of the preview; empty when it is removed because of its age.
	WebsiteName string
	// Commit is the last commit of the branch.
	Commit string
	// LastCommitTime is the time at which that commit was first observed.
	LastCommitTime metav1.Time
}
