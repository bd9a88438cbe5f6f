package website

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// FieldManager is the name under which the controller writes.
const FieldManager = "website-controller"

// neverStored makes an apply create or do nothing. A plain apply would merge
// into an object that somebody else created under this name a moment ago, if no
// field of the two clashes. With a resource version the API server refuses with
// a conflict when there is an object that has another one, and ignores it when
// there is none. Every stored object has another one: the first revision of
// etcd is that of the empty store.
const neverStored = "1"

// object is a child as the API server returns it.
type object interface {
	metav1.Object
	runtime.Object
}

// applyConfiguration is a child as the controller wants it.
type applyConfiguration[A any] interface {
	GetName() *string
	GetNamespace() *string
	WithUID(types.UID) A
	WithResourceVersion(string) A
}

// childClient reads and writes the children of one kind.
type childClient[T object, A applyConfiguration[A]] struct {
	// kind is the name of the kind, for people and metrics.
	kind string
	// owners tells what Websites there are.
	owners owners
	// cached reads the informer's store.
	cached func(namespace, name string) (T, error)
	// live reads the API server.
	live func(ctx context.Context, namespace, name string) (T, error)
	// extract returns the fields of an object that fieldManager applied.
	extract func(child T, fieldManager string) (A, error)
	// apply is server-side apply.
	apply func(ctx context.Context, namespace string, desired A, options metav1.ApplyOptions) (T, error)
}

// observation is what was found under the name of a child.
type observation[T object] struct {
	child T
	// found is false when there is no object of that name.
	found bool
	// live tells an object that was read from the API server from one that was
	// read from the cache.
	live bool
	// orphan is true when the object was a child of a Website of this name and
	// has no controller now. It is adopted with the next write.
	orphan bool
}

// outcome is what became of a child.
type outcome string

const (
	unchanged outcome = "unchanged"
	created   outcome = "created"
	updated   outcome = "updated"
	adopted   outcome = "adopted"
	deleted   outcome = "deleted"
)

// observe looks for the child of a Website. The cache is trusted only when it
// shows a child of this very Website: a missing one may just not have arrived,
// or have lost the label that informers select on, and a foreign one may be
// gone. It returns a *nameTakenError when the name belongs to something else.
func (c *childClient[T, A]) observe(ctx context.Context, site *v1beta1.Website, name string) (observation[T], error) {
	child, err := c.cached(site.Namespace, name)
	if err == nil && metav1.IsControlledBy(child, site) {
		return observation[T]{child: child, found: true}, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return observation[T]{}, fmt.Errorf("reading %s %q from the cache: %w", c.kind, name, err)
	}
	return c.observeLive(ctx, site, name)
}

func (c *childClient[T, A]) observeLive(ctx context.Context, site *v1beta1.Website, name string) (observation[T], error) {
	child, err := c.live(ctx, site.Namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return observation[T]{live: true}, nil
	case err != nil:
		return observation[T]{}, fmt.Errorf("reading %s %q: %w", c.kind, name, err)
	case metav1.IsControlledBy(child, site):
		return observation[T]{child: child, found: true, live: true}, nil
	case isOrphanOf(site, child):
		if err := c.mayOwn(ctx, site, name); err != nil {
			return observation[T]{}, err
		}
		return observation[T]{child: child, found: true, live: true, orphan: true}, nil
	default:
		owner := metav1.GetControllerOf(child)
		return observation[T]{}, &nameTakenError{
			kind: c.kind, name: name, owner: owner, passing: isGone(c.owners.cached, site.Namespace, owner),
		}
	}
}

// ensure makes the child what it should be and returns it, with what had to be
// done for that. It starts from an observation, which saves reading twice.
func (c *childClient[T, A]) ensure(ctx context.Context, site *v1beta1.Website, seen observation[T], desired A) (observation[T], outcome, error) {
	name := *desired.GetName()
	settled, err := c.settled(seen, desired)
	if err != nil || settled {
		return seen, unchanged, err
	}
	if !seen.live {
		// The cache may lag behind an apply of our own. Reading once more costs
		// less than an apply that changes nothing.
		live, err := c.observeLive(ctx, site, name)
		if err != nil {
			return seen, unchanged, err
		}
		seen = live
		if settled, err = c.settled(seen, desired); err != nil || settled {
			return seen, unchanged, err
		}
	}

	options := metav1.ApplyOptions{FieldManager: FieldManager}
	if !seen.found {
		// A new Website has had no children that could be gone, so it is not
		// asked for.
		if site.Status.ObservedGeneration != 0 {
			if err := c.mayOwn(ctx, site, name); err != nil {
				return seen, unchanged, err
			}
		}
		child, err := c.apply(ctx, site.Namespace, desired.WithResourceVersion(neverStored), options)
		if err != nil {
			return seen, unchanged, fmt.Errorf("creating %s %q: %w", c.kind, name, err)
		}
		recordChildWrite(c.kind, created)
		return observation[T]{child: child, found: true, live: true}, created, nil
	}

	// The UID makes the API server refuse when the object was replaced since it
	// was observed: with a conflict when there is none of that name any more,
	// as invalid (the UID is immutable) when there is another one.
	options.Force = true
	child, err := c.apply(ctx, site.Namespace, desired.WithUID(seen.child.GetUID()), options)
	if err != nil {
		return seen, unchanged, fmt.Errorf("updating %s %q: %w", c.kind, name, err)
	}
	done := updated
	switch {
	case child.GetResourceVersion() == seen.child.GetResourceVersion():
		// Admission put back what we wanted changed; nothing was written.
		return observation[T]{child: child, found: true, live: true}, unchanged, nil
	case seen.orphan:
		done = adopted
	}
	recordChildWrite(c.kind, done)
	return observation[T]{child: child, found: true, live: true}, done, nil
}

// settled reports whether nothing is to be done to a child. One that is being
// deleted is left to that; its deletion event brings the Website back.
func (c *childClient[T, A]) settled(seen observation[T], desired A) (bool, error) {
	if !seen.found {
		return false, nil
	}
	if !seen.child.GetDeletionTimestamp().IsZero() {
		return true, nil
	}
	applied, err := c.extract(seen.child, FieldManager)
	if err != nil {
		return false, fmt.Errorf("extracting the applied fields of %s %q: %w", c.kind, seen.child.GetName(), err)
	}
	return sameJSON(applied, desired)
}

// sameJSON compares two values of one type by what would go over the wire. Both
// are encoded from the same Go type, so fields and map keys come in one order.
func sameJSON[A any](a, b A) (bool, error) {
	left, err := json.Marshal(a)
	if err != nil {
		return false, fmt.Errorf("encoding an apply configuration: %w", err)
	}
	right, err := json.Marshal(b)
	if err != nil {
		return false, fmt.Errorf("encoding an apply configuration: %w", err)
	}
	return bytes.Equal(left, right), nil
}
