package store

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"
)

// refuseFuture returns 410 for a watch from a revision that the store has not reached.
// The client has it from another store, or from before an older copy was accepted. The
// library would leave out all events up to that revision, or wait for it before it sends
// initial events, and the client's cache would differ from the store without an error;
// after 410 the client lists again.
func (c closable) refuseFuture(ctx context.Context, opts storage.ListOptions) error {
	requested, err := storage.APIObjectVersioner{}.ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return nil // The library has an error of its own.
	}
	if requested <= uint64(c.guard.revision.Load()) {
		return nil
	}
	// Another replica may have written it.
	current, err := c.GetCurrentResourceVersion(ctx)
	if err != nil {
		return err
	}
	if requested > current {
		return apierrors.NewResourceExpired(
			fmt.Sprintf("resource version %d is not of this store, whose current one is %d: list again", requested, current),
		)
	}
	return nil
}
