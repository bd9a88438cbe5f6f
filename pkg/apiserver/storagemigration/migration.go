// Package storagemigration rewrites stored objects, so that all of them are
// encoded in the storage version and encrypted with the current key.
//
// It is a client of the API like any other: the servers go on serving, and what
// they are told about storage by their flags is what an object is rewritten to.
// The write is a patch that changes nothing. The API server skips such a write
// if the stored bytes are what it would write now, and only then.
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

// retries bounds the attempts at a request that fails for a passing reason:
// about half a minute, in which a server can restart.
var retries = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 8}

// Migration is the task to rewrite all objects of a resource.
type Migration struct {
	// Client may list and patch the resource in all namespaces.
	Client metadata.Interface
	// Server is where Client connects. It only tells migrations of different
	// servers apart.
	Server string
	// Resource is what is rewritten. The version is the one of the requests, and
	// need not be the one that is stored.
	Resource schema.GroupVersionResource
	// ChunkSize is how many objects a list request asks for.
	ChunkSize int64
	// ProgressFile keeps the progress, so that Run goes on where an interrupted
	// one has ended. Empty: Run begins at the beginning.
	ProgressFile string

	// failing is set while the server answers with internal errors even to
	// requests that were repeated.
	failing bool
}

// Run rewrites every object and returns what it did. What was created after its
// start is left alone: it is stored in the current way. It returns an error, with
// the progress so far, when objects remain that could not be written; what could
// be is done regardless. The progress file is removed once all objects were
// looked at.
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
			logger.Info("Going on where an earlier run has ended", "progressFile", m.ProgressFile, "done", p.Counts.Total())
			return p, nil
		}
	}
	logger.Info("Rewriting all stored objects", "resource", m.Resource.GroupResource(), "server", m.Server)
	p := &Progress{Server: m.Server, Resource: m.Resource.String()}
	if m.ProgressFile == "" {
		return p, nil
	}
	// A file that cannot be written is better known now than after the first page.
	return p, p.save(m.ProgressFile)
}

func (m *Migration) end(p *Progress) error {
	if m.ProgressFile != "" {
		if err := os.Remove(m.ProgressFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the progress of a finished migration: %w", err)
		}
	}
	if p.Counts.Failed > 0 {
		return fmt.Errorf("%d objects could not be rewritten, see the log: mend what it says and migrate again", p.Counts.Failed)
	}
	return nil
}

// report says how far the migration is. The number of remaining objects is an
// estimate of the server's.
func (m *Migration) report(ctx context.Context, p *Progress, page *metav1.PartialObjectMetadataList) {
	done := p.Counts.Total()
	total := done
	if page.RemainingItemCount != nil {
		total += *page.RemainingItemCount
	}
	klog.FromContext(ctx).Info("Progress", "done", done, "total", total,
		"rewritten", p.Counts.Rewritten, "current", p.Counts.Current, "changedByOthers", p.Counts.Changed, "failed", p.Counts.Failed)
}

// list returns the next page. A list that has taken so long that etcd has
// compacted its revision goes on from the same place in a newer one: what that
// shows twice is harmless, and what was created between is current.
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
			// From the beginning then. Objects that are done take no write.
			p.Continue, p.Counts = "", Counts{}
		}
		klog.FromContext(ctx).Info("The list has expired, going on with a new one", "fromBeginning", p.Continue == "")
		page, err = m.Client.Resource(m.Resource).List(ctx, metav1.ListOptions{Limit: m.ChunkSize, Continue: p.Continue})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", m.Resource.GroupResource(), err)
	}
	return page, nil
}

// rewrite has one object written again. It returns an error only if the
// migration cannot go on.
func (m *Migration) rewrite(ctx context.Context, object *metav1.PartialObjectMetadata, counts *Counts) error {
	// The resource version makes the server refuse the patch if somebody else has
	// written the object, and with it has stored it in the current way.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object.UID, "resourceVersion": object.ResourceVersion}})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	var written *metav1.PartialObjectMetadata
	err = m.retry(ctx, func(ctx context.Context) error {
		var err error
		written, err = m.Client.Resource(m.Resource).Namespace(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		return err
	})
	switch {
	case err == nil && written.ResourceVersion == object.ResourceVersion:
		counts.Current++
	case err == nil:
		counts.Rewritten++
	case apierrors.IsConflict(err), m.gone(err):
		counts.Changed++
	case apierrors.IsUnauthorized(err), passing(err) && !apierrors.IsInternalError(err), ctx.Err() != nil:
		return fmt.Errorf("rewriting %s: %w", klog.KObj(object), err)
	default:
		// Internal errors are those of this object, most often of a webhook that
		// cannot be reached: the others need not wait for that, each anew.
		m.failing = apierrors.IsInternalError(err)
		counts.Failed++
		klog.FromContext(ctx).Error(err, "Object could not be rewritten", "object", klog.KObj(object))
	}
	return nil
}

// gone tells whether the object is not there any more. A namespace that is not
// there is a different matter: its objects are, and remain as they were.
func (m *Migration) gone(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) &&
		status.Status().Details != nil && status.Status().Details.Kind == m.Resource.Resource
}

// retry does something again as long as it fails for a passing reason, which
// an internal error is not while all requests have them.
func (m *Migration) retry(ctx context.Context, do func(context.Context) error) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
		last = do(ctx)
		switch {
		case last == nil:
			m.failing = false
			return true, nil
		case !passing(last), m.failing && apierrors.IsInternalError(last):
			return true, last
		case ctx.Err() != nil:
			// How the interruption showed does not matter.
			return true, ctx.Err()
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return last
	}
	return err
}

// passing tells whether the same request may succeed a moment later. Errors that
// are no answer of a server are those of the connection.
func passing(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}
