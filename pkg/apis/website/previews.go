package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LabelPreviewOf is the label of a preview, with the name of its Website.
const LabelPreviewOf = GroupName + "/preview-of"

// PreviewOwner returns the reference to the Website that controls another one, which makes
// that a preview, or nil.
func PreviewOwner(website metav1.Object) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(website)
	if owner == nil || !IsReference(owner) {
		return nil
	}
	return owner
}

// IsReference reports whether an owner reference names a Website of any version.
func IsReference(owner *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == GroupName && owner.Kind == "Website"
}
