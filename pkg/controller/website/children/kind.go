package children

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// neverStored makes an apply create an object or do nothing. A plain apply would merge into an object
// that another client created under this name a moment ago, if their fields do not conflict. With a
// resource version the API server rejects the apply with a conflict when an object with another one
// exists, and ignores it when there is no object. Every stored object has another one: the first
// revision of etcd belongs to the empty store.
const neverStored = "1"

// Client is the part of a typed client that writes children.
type Client[S cached.Object, A any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (S, error)
	Apply(ctx context.Context, desired A, options metav1.ApplyOptions) (S, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// Kind reads and writes the children of one kind: S as the API server returns them, T as the caches hold them, and A
// as the controller wants them.
type Kind[S cached.Object, T cached.Kept, A cached.ApplyConfiguration[A]] struct {
	cached.Fields[S, A]
	name   string
	owners Owners
	cache  cache.MutationCache
	client func(namespace string) Client[S, A]
	// trim returns the cached form of a child, and notes reads the traces of the writes of the
	// controller.
	trim  func(child S) T
	notes func(child T) cached.Notes
	// otherwise is an alternative for the user to deleting the other object, if a name is taken.
	otherwise string
}

func newKind[S cached.Object, T cached.Child, A cached.ApplyConfiguration[A], C Client[S, A]](
	name string, owners Owners, store cache.Store, client func(namespace string) C, fields cached.Fields[S, A],
	trim func(child S) T,
) *Kind[S, T, A] {
	return &Kind[S, T, A]{
		Fields: fields, name: name, owners: owners, cache: NewCache(store), trim: trim,
		notes:     func(child T) cached.Notes { return child.Written() },
		otherwise: "create this Website again with another deploymentName",
		client:    func(namespace string) Client[S, A] { return client(namespace) },
	}
}

// String returns the name of the kind.
func (k *Kind[S, T, A]) String() string { return k.name }

// counted counts a write in the metrics, and returns it.
func (k *Kind[S, T, A]) counted(done Operation) Operation {
	metrics.RecordChildWrite(k.name, string(done))
	return done
}

// Operation is the result of a write of a child.
type Operation string

// The operations.
const (
	Unchanged Operation = "unchanged"
	Created   Operation = "created"
	Updated   Operation = "updated"
	Adopted   Operation = "adopted"
	Deleted   Operation = "deleted"
)

// Find returns the child of a Website, or nil when there is none. The cache is trusted only if its
// child belongs to this very Website: a missing one may not have arrived yet, or lack the label that
// informers select on, and a foreign one may be gone.
func (k *Kind[S, T, A]) Find(ctx context.Context, website *v1beta1.Website, name string) (T, *problem.Problem) {
	var none T
	if child := k.cached(website.Namespace, name); child != none && metav1.IsControlledBy(child.GetObjectMeta(), website) {
		return child, nil
	}
	live, err := k.client(website.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, problem.ClassifyOther(fmt.Errorf("reading %s %q: %w", k.name, name, err))
	}
	child := k.trim(live)
	switch {
	case metav1.IsControlledBy(child.GetObjectMeta(), website):
		k.cache.Mutation(child)
		return child, nil
	case k.isOrphanOf(website, child):
		if p := k.MayOwn(ctx, website, name); p != nil {
			return none, p
		}
		return child, nil
	default:
		return none, k.taken(website, child)
	}
}

// FindUnlessNew is Find for a Website that may be new. No child of a new one is expected, so the API
// server is not asked: it rejects the creation of an existing one.
func (k *Kind[S, T, A]) FindUnlessNew(ctx context.Context, website *v1beta1.Website, name string,
	isNew bool) (T, *problem.Problem) {
	if isNew {
		return k.Held(website, name), nil
	}
	return k.Find(ctx, website, name)
}

// Ensure creates or updates a child and returns it, with the operation.
func (k *Kind[S, T, A]) Ensure(ctx context.Context, website *v1beta1.Website, desired A) (T, Operation,
	*problem.Problem) {
	child, p := k.Find(ctx, website, *desired.GetName())
	if p != nil {
		return child, Unchanged, p
	}
	return k.Apply(ctx, website, child, desired)
}

// Apply is Ensure for a child after Find. child is nil if it is missing. If the write fails, it is
// returned unchanged.
func (k *Kind[S, T, A]) Apply(ctx context.Context, website *v1beta1.Website, child T, desired A) (T, Operation,
	*problem.Problem) {
	var none T
	if child == none {
		return k.create(ctx, website, desired)
	}
	if unchanged, p := k.isUnchanged(child, desired); p != nil || unchanged {
		return child, Unchanged, p
	}
	if p := k.checkGeneration(ctx, website, child); p != nil {
		return child, Unchanged, p
	}
	desired = cached.WithGeneration(desired, website.Generation)
	live, err := k.client(website.Namespace).Apply(ctx, desired.WithUID(child.GetObjectMeta().GetUID()),
		metav1.ApplyOptions{FieldManager: cached.FieldManager, Force: true})
	if err != nil {
		k.refresh(ctx, website.Namespace, child.GetName())
		return child, Unchanged, problem.Classify(fmt.Errorf("updating %s %q: %w", k.name, child.GetName(), err))
	}
	applied := k.Remember(live)
	switch {
	case applied.GetObjectMeta().GetResourceVersion() == child.GetObjectMeta().GetResourceVersion():
		return applied, Unchanged, nil // Admission restored the fields.
	case !metav1.IsControlledBy(child.GetObjectMeta(), website):
		return applied, k.counted(Adopted), nil
	default:
		return applied, k.counted(Updated), nil
	}
}

// refresh reads a child after a failed write: the write was for a cached object that no longer
// exists, or it took effect and its response was lost. A failed read is left to the next attempt.
func (k *Kind[S, T, A]) refresh(ctx context.Context, namespace, name string) {
	if child, err := k.client(namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
		k.Remember(child)
	}
}

// Remember stores a child from a response of the API server, and returns its cached form.
func (k *Kind[S, T, A]) Remember(live S) T {
	child := k.trim(live)
	k.cache.Mutation(child)
	return child
}

// shown drops the remembered child if the informer's store has it, or a newer one: the cache does so
// when it is read.
func (k *Kind[S, T, A]) shown(child T) { k.cached(child.GetNamespace(), child.GetName()) }

func (k *Kind[S, T, A]) create(ctx context.Context, website *v1beta1.Website, desired A) (T, Operation,
	*problem.Problem) {
	var none T
	name := *desired.GetName()
	// A Website without a status has never had children that could be gone, unless the cache lacks its status:
	// then the caller has asked.
	if website.Status.ObservedGeneration != 0 {
		if p := k.MayOwn(ctx, website, name); p != nil {
			return none, Unchanged, p
		}
	}
	desired = cached.WithGeneration(desired, website.Generation)
	live, err := k.client(website.Namespace).Apply(ctx, desired.WithResourceVersion(neverStored),
		metav1.ApplyOptions{FieldManager: cached.FieldManager})
	if apierrors.IsConflict(err) {
		// The child exists: it is new, or the cache was trusted.
		if _, p := k.Find(ctx, website, name); p != nil {
			return none, Unchanged, p
		}
	}
	if err != nil {
		return none, Unchanged, problem.Classify(fmt.Errorf("creating %s %q: %w", k.name, name, err))
	}
	return k.Remember(live), k.counted(Created), nil
}

// Delete removes the child of a Website if the cache has one: a child that is not there yet queues
// the Website when it arrives. The preconditions protect an object that has been replaced or adopted
// since.
func (k *Kind[S, T, A]) Delete(ctx context.Context, website *v1beta1.Website, name string) (Operation,
	*problem.Problem) {
	var none T
	child := k.Held(website, name)
	if child == none || !child.GetObjectMeta().GetDeletionTimestamp().IsZero() {
		return Unchanged, nil
	}
	if p := k.checkGeneration(ctx, website, child); p != nil {
		return Unchanged, p
	}
	held := child.GetObjectMeta()
	err := k.client(website.Namespace).Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: ptr.To(held.GetUID()), ResourceVersion: ptr.To(held.GetResourceVersion())},
	})
	switch {
	case apierrors.IsNotFound(err):
		return Unchanged, nil // Its event queues the Website.
	case err != nil:
		return Unchanged, problem.Classify(fmt.Errorf("deleting %s %q: %w", k.name, name, err))
	default:
		return k.counted(Deleted), nil
	}
}

// Held returns the child of this name from the cache, or nil if it does not belong to the Website.
func (k *Kind[S, T, A]) Held(website *v1beta1.Website, name string) T {
	var none T
	if child := k.cached(website.Namespace, name); child != none && metav1.IsControlledBy(child.GetObjectMeta(), website) {
		return child
	}
	return none
}

// cached returns a child from the cache, or as last written or read when that is newer; nil without
// one.
func (k *Kind[S, T, A]) cached(namespace, name string) T {
	var none T
	obj, exists, err := k.cache.GetByKey(cache.NewObjectName(namespace, name).String())
	if child, ok := obj.(T); err == nil && exists && ok {
		return child
	}
	return none
}

// BeingDeleted returns a problem if a child is being deleted, or nil. Its deletion event queues the
// Website.
func (k *Kind[S, T, A]) BeingDeleted(child T) *problem.Problem {
	if child.GetObjectMeta().GetDeletionTimestamp().IsZero() {
		return nil
	}
	p := problem.Classify(fmt.Errorf("%s %q is being deleted; it is created again when it is gone", k.name,
		child.GetName()))
	p.Reason, p.Retry, p.Result, p.Passing = v1beta1.WebsiteReasonRolloutInProgress, problem.OnChange, problem.Taken, true
	p.ID = p.Reason + "/" + k.name + "/" + child.GetName()
	return p
}

// Applied returns the digest of the fields of a child that the controller has applied.
func (k *Kind[S, T, A]) Applied(child T) (cached.Digest, *problem.Problem) {
	notes := k.notes(child)
	if notes.Unreadable != nil {
		return cached.Digest{}, problem.Classify(fmt.Errorf("extracting the applied fields of %s %q: %w", k.name,
			child.GetName(), notes.Unreadable))
	}
	return notes.Applied, nil
}

// Desired returns the digest of the fields that the controller is about to apply.
func (k *Kind[S, T, A]) Desired(desired A) (cached.Digest, *problem.Problem) {
	digest, err := k.Digest(desired)
	return digest, problem.Classify(err)
}

// isUnchanged reports whether a child needs no write. A child that is being deleted is not written:
// if it differs, that is a problem until it is gone. A generation of the Website that does not change
// a child is not worth a write.
func (k *Kind[S, T, A]) isUnchanged(child T, desired A) (bool, *problem.Problem) {
	applied, p := k.Applied(child)
	if p != nil {
		return false, p
	}
	wanted, p := k.Desired(desired)
	if p != nil || applied == wanted {
		return p == nil, p
	}
	return false, k.BeingDeleted(child)
}
