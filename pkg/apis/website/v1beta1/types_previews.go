package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsitePreviews gives branches of the repository a site each: a Website that
// the Website controls, with the label mycontroller.nevermosby.io/preview-of.
type WebsitePreviews struct {
	// branches are patterns of the names of branches, from 1 to 16, each of at most
	// 255 bytes. "*" stands for any characters. The branch of the Website itself has
	// no preview.
	// +required
	// +listType=atomic
	// +k8s:required
	// +k8s:maxItems=16
	// +k8s:eachVal=+k8s:maxBytes=255
	Branches []string `json:"branches" protobuf:"bytes,1,rep,name=branches"`

	// maxCount is the largest number of previews, from 1 to 50. If more branches
	// match, existing previews are kept. Defaults to 5.
	// +optional
	// +default=5
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=50
	MaxCount int32 `json:"maxCount,omitempty" protobuf:"varint,2,opt,name=maxCount"`

	// ttlSeconds is the time in seconds after which a preview is removed if its
	// branch has had no new commit, from 3600 to 31536000. Defaults to none: a
	// preview is kept as long as its branch exists.
	// +optional
	// +k8s:optional
	// +k8s:minimum=3600
	// +k8s:maximum=31536000
	TTLSeconds *int32 `json:"ttlSeconds,omitempty" protobuf:"varint,3,opt,name=ttlSeconds"`

	// domain is the DNS domain of the previews: their hosts are
	// <branch>.<metadata.name>.<domain>. Defaults to --preview-domain of
	// website-controller; without that, previews have no hosts, and a Service of the
	// type NodePort if the Website has one, otherwise ClusterIP.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	// +k8s:maxLength=100
	Domain string `json:"domain,omitempty" protobuf:"bytes,4,opt,name=domain"`

	// access restricts the visitors of the previews, as spec.access does for the
	// site. An unset member is inherited from spec.access.
	// +optional
	Access WebsiteAccess `json:"access,omitempty,omitzero" protobuf:"bytes,5,opt,name=access"`
}

// WebsitePreviewStatus is the observed state of a branch that has, or has had,
// a preview.
type WebsitePreviewStatus struct {
	// branch is the name of the branch.
	// +required
	// +k8s:required
	// +k8s:maxBytes=255
	Branch string `json:"branch" protobuf:"bytes,1,opt,name=branch"`

	// websiteName is the name of the preview's Website. It is empty when the
	// preview was removed because of its age.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=63
	WebsiteName string `json:"websiteName,omitempty" protobuf:"bytes,2,opt,name=websiteName"`

	// commit is the last commit of the branch: 40 or 64 hexadecimal digits.
	// +optional
	Commit string `json:"commit,omitempty" protobuf:"bytes,3,opt,name=commit"`

	// lastCommitTime is the time at which that commit was first observed.
	// +optional
	// +k8s:opaqueType
	LastCommitTime metav1.Time `json:"lastCommitTime,omitempty,omitzero" protobuf:"bytes,4,opt,name=lastCommitTime"`
}
