package website

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// nameTakenError says that the name of a child belongs to something else.
type nameTakenError struct {
	kind, name string
	// owner is the controller of the object in the way; nil when it has none.
	owner *metav1.OwnerReference
	// passing is true when that owner is a Website that is gone: garbage
	// collection is about to remove the object, and nobody needs to act.
	passing bool
	// claimed is true when the object does not exist, and an older Website, the
	// owner, asks for its name too.
	claimed bool
}

// Error tells the user what is in the way and how to go on.
func (e *nameTakenError) Error() string {
	if e.claimed {
		return fmt.Sprintf("the older %s %q asks for the name %q too and comes first; "+
			"create this Website again with another deploymentName, or delete the other one", e.owner.Kind, e.owner.Name, e.name)
	}
	if e.passing {
		return fmt.Sprintf("%s %q still belongs to %s %q of before, which was deleted; it is made anew as soon as garbage collection has removed it",
			e.kind, e.name, e.owner.Kind, e.owner.Name)
	}
	belongs := "has no owner"
	if e.owner != nil {
		belongs = fmt.Sprintf("belongs to %s %q", e.owner.Kind, e.owner.Name)
	}
	return fmt.Sprintf("%s %q exists already and %s, so it is left alone; "+
		"delete it, or create this Website again with another deploymentName", e.kind, e.name, belongs)
}

// key tells one obstacle from another: the same object in somebody else's hands
// is worth another event.
func (e *nameTakenError) key() string {
	var owner types.UID
	if e.owner != nil {
		owner = e.owner.UID
	}
	return fmt.Sprintf("%s/%s/%s/%s", v1beta1.WebsiteReasonNameTaken, e.kind, e.name, owner)
}

// isWebsite reports whether a reference names a Website of any version.
func isWebsite(owner *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == v1beta1.GroupName && owner.Kind == resources.Kind
}

// isGone reports whether an owner is a Website that does not exist any more,
// such as the one of the same name that was deleted to make a new one.
func isGone(sites websitelisters.WebsiteLister, namespace string, owner *metav1.OwnerReference) bool {
	if owner == nil || !isWebsite(owner) {
		return false
	}
	site, err := sites.Websites(namespace).Get(owner.Name)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return site.UID != owner.UID
}

// websiteOf returns the Website that controls a child, by its reference alone.
func websiteOf(child metav1.Object) (cache.ObjectName, types.UID, bool) {
	owner := metav1.GetControllerOfNoCopy(child)
	if owner == nil || !isWebsite(owner) {
		return cache.ObjectName{}, "", false
	}
	return cache.NewObjectName(child.GetNamespace(), owner.Name), owner.UID, true
}

// isConflict reports whether a write was refused because the object is not the
// one it was meant for. The next pass looks again; nobody needs to be told.
func isConflict(err error) bool {
	return (apierrors.IsConflict(err) && !isDenied(err)) || isUIDMismatch(err)
}

// isUIDMismatch recognizes how the API server answers an apply whose UID is not
// that of the stored object: it is invalid to change a UID.
func isUIDMismatch(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}

// isNamespaceTerminating reports whether a child could not be created because
// its namespace is being deleted, and the Website with it.
func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
