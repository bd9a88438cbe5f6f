package website

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// updateStatus writes the status of a Website when it differs from what is
// there. The write carries the resource version of the cached object, so it
// cannot undo a newer one.
func (c *Controller) updateStatus(ctx context.Context, site *v1alpha1.Website, availableReplicas int32) error {
	if site.Status.AvailableReplicas == availableReplicas {
		return nil
	}
	site = site.DeepCopy()
	site.Status.AvailableReplicas = availableReplicas
	_, err := c.websites.WebsiteV1alpha1().Websites(site.Namespace).
		UpdateStatus(ctx, site, metav1.UpdateOptions{FieldManager: FieldManager})
	switch {
	case apierrors.IsNotFound(err):
		return nil // Deleted meanwhile.
	case err != nil:
		return fmt.Errorf("writing the status of Website %q: %w", site.Name, err)
	default:
		recordStatusWrite()
		return nil
	}
}
