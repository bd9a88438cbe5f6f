package website

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// owners tells what Websites there are, from the cache and from the API server.
type owners struct {
	cached websitelisters.WebsiteLister
	live   func(ctx context.Context, namespace, name string) (*v1beta1.Website, error)
}

// isOrphanOf reports whether an object may be adopted by a Website, by the rules
// of Kubernetes' own controllers: it has no controller, it matches the labels of
// the Website, and it is not being deleted. On top of these the controller must
// have applied it: labels can be copied by anybody, and an object that somebody
// else made is never touched.
func isOrphanOf(site *v1beta1.Website, child metav1.Object) bool {
	return metav1.GetControllerOfNoCopy(child) == nil &&
		child.GetDeletionTimestamp().IsZero() &&
		resources.IsLabelled(child.GetLabels(), site) &&
		slices.ContainsFunc(child.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
		})
}

// mayOwn asks the API server whether a Website still wants children, before it
// takes an orphan back or gets again a child that is gone. The cache may not show
// yet that the Website is deleted: that is in another store than its children,
// whose removal by garbage collection may be seen first. What is made for it then
// would undo a deletion that orphans, and be removed again after any other.
func (c *childClient[T, A]) mayOwn(ctx context.Context, site *v1beta1.Website, name string) error {
	current, err := c.owners.live(ctx, site.Namespace, site.Name)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading Website %q before it gets %s %q: %w", site.Name, c.kind, name, err)
	case current.UID == site.UID && current.DeletionTimestamp.IsZero():
		return nil
	}
	return apierrors.NewConflict(v1beta1.Resource("websites"), site.Name,
		fmt.Errorf("it is being deleted or gone, so it gets no %s", c.kind))
}
