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
	"os"
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
	// Server is the server of Client. It distinguishes the progress of migrations
	// of different servers.
	Server string
	// Resource is the resource to rewrite. The version is the requests' version,
	// which may differ from the stored one.
	Resource schema.GroupVersionResource
	// ChunkSize is the limit of a list request.
	ChunkSize int64
	// ProgressFile keeps the progress, so that Run continues an interrupted
	// migration. If it is empty, Run begins at the beginning.
	ProgressFile string

	// failing is set while the server answers retried requests with internal
	// errors.
	failing bool
}

// Run rewrites every object and returns the counts. Objects created after its start
// are current and are skipped. It returns an error, with the counts so far, if objects
// could not be rewritten; it rewrites all others first. It removes the progress file
// once it has processed all objects.
func (m *Migration) Run(ctx context.Context) (Counts, error) {
	p, err := m.begin(ctx)
	if err != nil {
		return Counts{}, err
	}
	for {
		page, err := m.list(ctx, p)
		if err != nil {
			return p.Counts, err
		}
		for i := range page.Items {
			if err := m.rewrite(ctx, &page.Items[i], &p.Counts); err != nil {
				return p.Counts, err
			}
		}
		m.report(ctx, p, page)
		if page.Continue == "" {
			return p.Counts, m.end(p)
		}
		p.Continue = page.Continue
		if m.ProgressFile != "" {
			if err := p.save(m.ProgressFile); err != nil {
				return p.Counts, err
			}
		}
	}
}

func (m *Migration) begin(ctx context.Context) (*Progress, error) {
	logger := klog.FromContext(ctx)
	if m.ProgressFile != "" {
		p, err := load(m.ProgressFile, m.Server, m.Resource)
		if err != nil {
			return nil, err
		}
		if p != nil {
			logger.Info("Continuing an interrupted migration", "progressFile", m.ProgressFile, "done", p.Counts.Total())
			return p, nil
		}
	}
	logger.Info("Rewriting all stored objects", "resource", m.Resource.GroupResource(), "server", m.Server)
	p := &Progress{Server: m.Server, Resource: m.Resource.String()}
	if m.ProgressFile == "" {
		return p, nil
	}
	// An unwritable file fails now, and not after the first page.
	return p, p.save(m.ProgressFile)
}

func (m *Migration) end(p *Progress) error {
	if m.ProgressFile != "" {
		if err := os.Remove(m.ProgressFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the progress of a finished migration: %w", err)
		}
	}
	if p.Counts.Failed > 0 {
		return fmt.Errorf("%d objects could not be rewritten: fix the logged errors and rerun", p.Counts.Failed)
	}
	return nil
}

// report logs the progress. The server estimates the number of remaining objects.
func (m *Migration) report(ctx context.Context, p *Progress, page *metav1.PartialObjectMetadataList) {
	done := p.Counts.Total()
	total := done
	if page.RemainingItemCount != nil {
		total += *page.RemainingItemCount
	}
	klog.FromContext(ctx).Info("Progress", "done", done, "total", total,
		"rewritten", p.Counts.Rewritten, "current", p.Counts.Current, "changedByOthers", p.Counts.Changed, "failed",
		p.Counts.Failed)
}

// list returns the next page. If etcd has compacted the revision of the list, it
// continues at the same key in a later revision: objects that are listed twice are
// harmless, and objects that were created in between are current.
func (m *Migration) list(ctx context.Context, p *Progress) (*metav1.PartialObjectMetadataList, error) {
	var page *metav1.PartialObjectMetadataList
	err := m.retry(ctx, func(ctx context.Context) error {
		var err error
		page, err = m.Client.Resource(m.Resource).List(ctx, metav1.ListOptions{Limit: m.ChunkSize, Continue: p.Continue})
		if !apierrors.IsResourceExpired(err) {
			return err
		}
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().ListMeta.Continue != "" {
			p.Continue = status.Status().ListMeta.Continue
		} else {
			// The list restarts from the beginning. Completed objects take no write.
			p.Continue, p.Counts = "", Counts{}
		}
		klog.FromContext(ctx).Info("The list has expired, continuing with a new one", "fromBeginning", p.Continue == "")
		page, err = m.Client.Resource(m.Resource).List(ctx, metav1.ListOptions{Limit: m.ChunkSize, Continue: p.Continue})
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
