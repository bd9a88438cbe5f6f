// Package storagemigration rewrites stored objects, so that all of them are encoded
// in the storage version and encrypted with the current key.
//
// It is a client of the API: the servers continue to serve, and their flags
// determine the stored form of an object. The write is a patch that changes nothing.
// The API server skips such a write only if the stored bytes equal those that it
// would write.
package storagemigration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
)

// fieldManager never owns a field: the patches change none.
const fieldManager = "website-storage-migrator"

// retries bounds the retries of a request to about half a minute, in which a server
// can restart.
var retries = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 8}

// Migration is the task to rewrite all objects of a resource.
type Migration struct {
	// Client may list and patch the resource in all namespaces.
	Client metadata.Interface
	// Resource is the resource to rewrite. The version is the requests' version,
	// which may differ from the stored one.
	Resource schema.GroupVersionResource
	// ChunkSize is the limit of a list request.
	ChunkSize int64

	// failing is set while the server answers retried requests with internal
	// errors.
	failing bool
}

// Counts are the numbers of processed objects, by result.
type Counts struct {
	// Rewritten are the objects that were stored in another form before.
	Rewritten int64
	// Current are the objects that needed no write.
	Current int64
	// Changed are the objects that another client has written or deleted meanwhile.
	Changed int64
	// Failed are the objects that could not be written, for example because an
	// admission webhook denies it. They are logged one by one.
	Failed int64
}

// Total returns the number of processed objects.
func (c Counts) Total() int64 { return c.Rewritten + c.Current + c.Changed + c.Failed }

// Run rewrites every object and returns the counts. Objects created after its start
// are current and are skipped. It returns an error, with the counts so far, if objects
// could not be rewritten; it rewrites all others first. After an interruption it may run again:
// objects that are current by then take no write.
func (m *Migration) Run(ctx context.Context) (Counts, error) {
	klog.FromContext(ctx).Info("Rewriting all stored objects", "resource", m.Resource.GroupResource())
	var counts Counts
	for next := ""; ; {
		page, err := m.list(ctx, next, &counts)
		if err != nil {
			return counts, err
		}
		for i := range page.Items {
			if err := m.rewrite(ctx, &page.Items[i], &counts); err != nil {
				return counts, err
			}
		}
		report(ctx, counts, page)
		if next = page.Continue; next != "" {
			continue
		}
		if counts.Failed > 0 {
			return counts, fmt.Errorf("%d objects could not be rewritten: fix the logged errors and rerun", counts.Failed)
		}
		return counts, nil
	}
}

// report logs the progress. The server estimates the number of remaining objects.
func report(ctx context.Context, counts Counts, page *metav1.PartialObjectMetadataList) {
	done := counts.Total()
	total := done
	if page.RemainingItemCount != nil {
		total += *page.RemainingItemCount
	}
	klog.FromContext(ctx).Info("Progress", "done", done, "total", total,
		"rewritten", counts.Rewritten, "current", counts.Current, "changedByOthers", counts.Changed, "failed",
		counts.Failed)
}

// list returns the page at a continue token. If etcd has compacted the revision of the list, it
// continues at the same key in a later revision: objects that are listed twice are
// harmless, and objects that were created in between are current.
func (m *Migration) list(ctx context.Context, next string, counts *Counts) (*metav1.PartialObjectMetadataList, error) {
	var page *metav1.PartialObjectMetadataList
	err := m.retry(ctx, func(ctx context.Context) error {
		var err error
		page, err = m.Client.Resource(m.Resource).List(ctx, metav1.ListOptions{Limit: m.ChunkSize, Continue: next})
		if !apierrors.IsResourceExpired(err) {
			return err
		}
		var status apierrors.APIStatus
		if next = ""; errors.As(err, &status) {
			next = status.Status().ListMeta.Continue
		}
		if next == "" {
			*counts = Counts{}
		}
		klog.FromContext(ctx).Info("The list has expired, continuing with a new one", "fromBeginning", next == "")
		page, err = m.Client.Resource(m.Resource).List(ctx, metav1.ListOptions{Limit: m.ChunkSize, Continue: next})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", m.Resource.GroupResource(), err)
	}
	return page, nil
}

// rewrite rewrites one object. It returns an error only if the migration cannot
// continue.
func (m *Migration) rewrite(ctx context.Context, object *metav1.PartialObjectMetadata, counts *Counts) error {
	// With the resource version, the server rejects the patch if another client has
	// written the object, which is current then.
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion}},
	)
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	var written *metav1.PartialObjectMetadata
	err = m.retry(ctx, func(ctx context.Context) error {
		var err error
		written, err = m.Client.Resource(m.Resource).Namespace(object.Namespace).Patch(ctx, object.Name, types.MergePatchType,
			patch, metav1.PatchOptions{FieldManager: fieldManager})
		return err
	})
	switch {
	case err == nil && written.ResourceVersion == object.ResourceVersion:
		counts.Current++
	case err == nil:
		counts.Rewritten++
	case apierrors.IsConflict(err), m.isDeleted(err):
		counts.Changed++
	case apierrors.IsUnauthorized(err), transient(err) && !apierrors.IsInternalError(err), ctx.Err() != nil:
		return fmt.Errorf("rewriting %s: %w", klog.KObj(object), err)
	default:
		// Most internal errors come from an unreachable webhook: the other objects
		// are not retried again for it.
		m.failing = apierrors.IsInternalError(err)
		counts.Failed++
		klog.FromContext(ctx).Error(err, "Failed to rewrite object", "object", klog.KObj(object))
	}
	return nil
}

// isDeleted reports whether the object was deleted. If its namespace is not found, the
// object still exists, and is not rewritten.
func (m *Migration) isDeleted(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		status.Status().Details != nil && status.Status().Details.Kind == m.Resource.Resource
}

// retry retries transient errors. Internal errors are not transient while all
// requests fail with them.
func (m *Migration) retry(ctx context.Context, do func(context.Context) error) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
		last = do(ctx)
		switch {
		case last == nil:
			m.failing = false
			return true, nil
		case !transient(last), m.failing && apierrors.IsInternalError(last):
			return true, last
		case ctx.Err() != nil:
			// The interruption is returned instead of the error that it caused.
			return true, ctx.Err()
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return last
	}
	return err
}

// transient reports whether the same request may succeed later. Errors without a
// status come from the connection.
func transient(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}
