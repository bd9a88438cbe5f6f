package store

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// adopt takes a store for the right one of a cluster that has no record of any, if
// no object of the cluster would lose its owner. It returns false when another
// server has written a record meanwhile, or when it has written the record of the store,
// which is then verified as any other.
func (g *Guard) adopt(ctx context.Context, c content, endpoint string) (bool, *Closed, error) {
	owned, err := g.config.Owned(ctx)
	if err != nil {
		return false, &Closed{ReasonHostUnreachable,
			"the objects that Websites own cannot be listed in the host cluster: " + err.Error()}, nil
	}
	uids, err := g.config.Websites(ctx, endpoint)
	if err != nil {
		return false, &Closed{ReasonUnreadable, "the Websites in the store cannot be read: " + err.Error()}, nil
	}
	if closed := adoptable(c, owned, unknownOwners(owned, uids), len(uids)); closed != nil {
		closed.Message += "; " + g.config.Host.String() + " does not exist"
		return false, closed, nil
	}
	client, err := g.dialer.client(endpoint)
	if err != nil {
		return false, nil, err
	}
	defer client.Close() //nolint:errcheck // The writes were answered.
	if c.record == nil {
		_, err = g.keys.write(ctx, client, c, Record{Identity: newIdentity(), Nonce: newNonce(), RecordedAt: recordTime()})
		return false, nil, err
	}
	if err := beginCompactions(ctx, client); err != nil {
		return false, nil, err
	}
	_, err = g.config.Host.Put(ctx, nil, HostRecord{Identity: c.record.Identity, Nonces: []string{c.record.Nonce},
		RecordedAt: c.record.RecordedAt})
	if apierrors.IsAlreadyExists(err) {
		return false, nil, nil
	}
	if err != nil {
		return false, &Closed{ReasonHostUnreachable, "the store cannot be recorded in the host cluster: " + err.Error()}, nil
	}
	klog.FromContext(ctx).Info("The store was adopted: the host cluster had no record of a store, and the store "+
		"contains the owners of all objects that Websites own", "identity", c.record.Identity, "record",
		g.config.Host.String(), "objects", len(owned), "websites", len(uids))
	return true, nil, nil
}

// unknownOwners returns those objects whose owner is not among the Websites with
// these UIDs.
func unknownOwners(owned []OwnedObject, uids sets.Set[types.UID]) []OwnedObject {
	return slices.DeleteFunc(slices.Clone(owned), func(o OwnedObject) bool { return uids.Has(o.UID) })
}
