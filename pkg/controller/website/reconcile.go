package website

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// reconcile makes one pass over one Website. The problems it returns decide
// when the next one comes; see Controller.settle.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) []error {
	site, err := c.siteLister.Websites(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.reporter.forget(key)
		c.statuses.forget(key)
		return nil
	}
	if err != nil {
		return []error{err}
	}
	if !site.DeletionTimestamp.IsZero() {
		// Garbage collection removes the children; putting one back would only
		// get in its way.
		return nil
	}

	p := &pass{site: site, wanted: site}
	c.reconcileChildren(ctx, p)
	c.reporter.report(ctx, site, p.problems)
	c.run(ctx, p, stepStatus, c.reportStatus)
	return p.problems
}
