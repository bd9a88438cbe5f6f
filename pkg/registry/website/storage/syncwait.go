package storage

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// rewatchPause is the pause between two watches.
const rewatchPause = time.Second

// wait returns when the recorded request for a commit is completed, with the reason as
// an error if it has failed, and at the latest after limit.
func (r *SyncREST) wait(ctx context.Context, recorded *website.Website, commit string,
	limit time.Duration) (*website.WebsiteSyncRequest, error) {
	if err := registry.RefusePinned(recorded, commit); err != nil {
		return nil, err
	}
	if limit > 5*answerMargin {
		limit -= answerMargin
	}
	timer := r.clock.NewTimer(limit)
	defer timer.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request := pendingSync{requested: recorded.Status.Sync.LastRequest, commit: commit, last: recorded}
	for {
		done, err := r.follow(ctx, &request, timer.C())
		if done || err != nil {
			return request.response(), err
		}
		// Watches end regularly. Changes since then are read first.
		pause := r.clock.NewTimer(rewatchPause)
		select {
		case <-pause.C():
		case <-ctx.Done():
			pause.Stop()
			return nil, endedError()
		}
		current, err := r.get(ctx, recorded.Name)
		if err != nil {
			return nil, err
		}
		if done, err := request.observe(current); done || err != nil {
			return request.response(), err
		}
	}
}

// follow watches the Website until the request is completed. It returns false without an
// error if the watch ends before.
func (r *SyncREST) follow(ctx context.Context, request *pendingSync, expired <-chan time.Time) (bool, error) {
	w, err := r.store.Watch(ctx, &metainternalversion.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, request.last.Name),
		ResourceVersion: request.last.ResourceVersion,
	})
	switch {
	case apierrors.IsTooManyRequests(err), apierrors.IsResourceExpired(err):
		// The watch cache is not filled yet.
		w = watch.NewEmptyWatch()
	case err != nil:
		return false, err
	}
	defer w.Stop()
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				return false, nil
			}
			if done, err := request.handle(event); done || err != nil {
				return done, err
			}
		case <-expired:
			return false, request.timedOut()
		case <-r.stopped:
			return false, endedError()
		case <-ctx.Done():
			return false, endedError()
		}
	}
}

// endedError is the response when the client disconnects, the store closes or the server
// shuts down. Another replica may respond.
func endedError() error {
	return unavailableError("the request is recorded, but this server has ended the wait: repeat it to wait on")
}

// unrecordedError is the response when the client disconnects, the store closes or the server shuts down
// before the request is known to be recorded.
func unrecordedError() error {
	return unavailableError("this server has ended the request, which may not be recorded: repeat it")
}

func unavailableError(message string) error {
	err := apierrors.NewServiceUnavailable(message)
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return err
}

// pendingSync is an incomplete request with a waiting client.
type pendingSync struct {
	requested v1beta1.WebsiteSyncRecord
	commit    string
	// last is the last observed Website.
	last *website.Website
}

// handle observes an event of a watch.
func (p *pendingSync) handle(event watch.Event) (bool, error) {
	switch event.Type {
	case watch.Error:
		if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return false, err
		}
		return false, nil
	case watch.Deleted:
		return false, apierrors.NewNotFound(website.Resource("websites"), p.last.Name)
	case watch.Added, watch.Modified:
		obj := event.Object
		// Watches with a shared encoding deliver objects that cache their encodings.
		if cached, ok := obj.(runtime.CacheableObject); ok {
			obj = cached.GetObject()
		}
		return p.observe(obj.(*website.Website))
	}
	return false, nil
}

// observe reports whether the request is completed, with the reason if it failed.
func (p *pendingSync) observe(w *website.Website) (bool, error) {
	if w.UID != p.last.UID {
		return false, apierrors.NewNotFound(website.Resource("websites"), w.Name)
	}
	p.last = w
	if completed, failure := registry.SyncOutcome(w, p.requested, p.commit); completed {
		return true, failure
	}
	if err := registry.RefuseSync(w); err != nil {
		return false, err
	}
	return false, registry.RefusePinned(w, p.commit)
}

// response returns the response to a successful request. Another may have been recorded since.
func (p *pendingSync) response() *website.WebsiteSyncRequest {
	return registry.SyncResponse(p.last, p.requested.ID)
}

func (p *pendingSync) timedOut() error {
	state := registry.SyncStateOf(p.last.Status.Sync, p.requested.ID)
	return apierrors.NewTimeoutError(fmt.Sprintf("Website %q: the request is recorded, but not all pods serve the "+
		"commit yet (%s): repeat the request to wait on", p.last.Name, state), 0)
}
