package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// PreviewOwner returns the reference to the Website that controls another one, which makes
// that a preview, or nil.
func PreviewOwner(website metav1.Object) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(website)
	if owner == nil || owner.Kind != "Website" {
		return nil
	}
	if gv, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || gv.Group != GroupName {
		return nil
	}
	return owner
}
