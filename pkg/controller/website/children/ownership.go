package children

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websiteclient "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// Owners reads Websites.
type Owners struct {
	Cached websitelisters.WebsiteLister
	Live   websiteclient.WebsitesGetter
}

// OwnerOf returns the Website that controls a child, by its reference alone.
func OwnerOf(child metav1.Object) (cache.ObjectName, types.UID, bool) {
	owner := metav1.GetControllerOfNoCopy(child)
	if owner == nil || !api.IsReference(owner) {
		return cache.ObjectName{}, "", false
	}
	return cache.NewObjectName(child.GetNamespace(), owner.Name), owner.UID, true
}

// isOrphanOf reports whether an object may be adopted by a Website, by the rules
// of Kubernetes' own controllers: it has no controller, it matches the labels of
// the Website, and it is not being deleted. On top of these the controller must
// have applied it: labels can be copied by any client, and an object that another
// client made is never touched. A client that forges managed fields as well gains nothing:
// it may write the object, which then gets the content that the Website asks for.
// The label of a preview cannot be copied, and is there also after a restore.
func isOrphanOf(website *v1beta1.Website, child metav1.Object) bool {
	return metav1.GetControllerOfNoCopy(child) == nil &&
		child.GetDeletionTimestamp().IsZero() &&
		child.GetLabels()[resources.LabelManagedBy] == resources.ManagedBy &&
		child.GetLabels()[resources.LabelController] == website.Name &&
		(WasApplied(child) || isPreviewOf(website, child))
}

// isPreviewOf reports whether an object is a Website with the label of a preview, which website-apiserver accepts from
// clients with the verb preview only.
func isPreviewOf(website *v1beta1.Website, child metav1.Object) bool {
	_, ok := child.(*v1beta1.Website)
	return ok && child.GetLabels()[api.LabelPreviewOf] == website.Name
}

// mayOwn checks on the API server that a Website still exists, before it adopts an
// orphan or a missing child is created again. The cache may not show
// yet that the Website is deleted: that is in another store than its children,
// whose removal by garbage collection may be seen first. A child
// created then would undo a deletion that orphans, and be removed again after any
// other.
func (k *Kind[T, A]) mayOwn(ctx context.Context, website *v1beta1.Website, name string) *problem.Problem {
	current, err := k.owners.Live.Websites(website.Namespace).Get(ctx, website.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return problem.ClassifyOther(fmt.Errorf("reading Website %q before it gets %s %q: %w", website.Name, k.name, name, err))
	case current.UID == website.UID && current.DeletionTimestamp.IsZero() && current.Generation == website.Generation:
		return nil
	case current.UID == website.UID && current.DeletionTimestamp.IsZero():
		return outdated(website, current)
	}
	return problem.Classify(apierrors.NewConflict(v1beta1.Resource("websites"), website.Name,
		fmt.Errorf("it is being deleted or gone, so no %s is created for it", k.name)))
}

// taken returns the problem that an object of this name belongs to something else. The
// same object with another owner is another problem.
func (k *Kind[T, A]) taken(website *v1beta1.Website, name string, owner *metav1.OwnerReference) *problem.Problem {
	id := k.name + "/" + name + "/"
	if owner == nil {
		return problem.NameTaken(id, false, "%s %q exists already and has no owner, so it is left alone; delete it, or %s", k.name, name, k.otherwise)
	}
	id += string(owner.UID)
	if k.isGone(website.Namespace, owner) {
		// Garbage collection is about to remove the object.
		return problem.NameTaken(id, true, "%s %q still belongs to a deleted %s %q; it is created as soon as garbage collection has removed the old one",
			k.name, name, owner.Kind, owner.Name)
	}
	return problem.NameTaken(id, false, "%s %q exists already and belongs to %s %q, so it is left alone; delete it, or %s",
		k.name, name, owner.Kind, owner.Name, k.otherwise)
}

// isGone reports whether an owner is a Website that does not exist any more, or is being deleted,
// such as the one of the same name that was deleted to make a new one.
func (k *Kind[T, A]) isGone(namespace string, owner *metav1.OwnerReference) bool {
	if !api.IsReference(owner) {
		return false
	}
	website, err := k.owners.Cached.Websites(namespace).Get(owner.Name)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return website.UID != owner.UID || !website.DeletionTimestamp.IsZero()
}

// Claimed returns the problem that a name which no child has yet is claimed by an
// older Website.
func (k *Kind[T, A]) Claimed(name string, older *v1beta1.Website) *problem.Problem {
	return problem.NameTaken(k.name+"/"+name+"/"+string(older.UID), false, "the older %s %q claims the name %q first; "+
		"create this Website again with another deploymentName, or delete the other one", resources.Kind, older.Name, name)
}
