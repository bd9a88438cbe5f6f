package storage

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	apistorage "k8s.io/apiserver/pkg/storage"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// endingWatches are watches that end: the first closes, the second expires, the third cannot begin. The fourth ends
// with the error last, if that is set.
type endingWatches struct {
	apistorage.Interface
	last  runtime.Object
	begun atomic.Int32
}

func (s *endingWatches) Watch(ctx context.Context, key string, opts apistorage.ListOptions) (watch.Interface, error) {
	expired := apierrors.NewResourceExpired("too old")
	ended := watch.NewFakeWithChanSize(1, false)
	switch begun := s.begun.Add(1); {
	case begun == 1:
		ended.Stop()
	case begun == 2:
		ended.Error(&expired.ErrStatus)
		ended.Stop()
	case begun == 3:
		return nil, expired
	case s.last == nil:
		return s.Interface.Watch(ctx, key, opts)
	default:
		ended.Error(s.last)
	}
	return ended, nil
}

// TestSyncWaitsOutliveWatches: watches end regularly, and may expire. What happens meanwhile is not missed.
func TestSyncWaitsOutliveWatches(t *testing.T) {
	for name, test := range map[string]struct {
		// after is the number of watches after which the request is completed.
		after int32
		last  runtime.Object
		want  int
	}{
		"completed after a watch has ended":   {after: 1, want: http.StatusOK},
		"completed after a watch has expired": {after: 2, want: http.StatusOK},
		"completed after a watch was refused": {after: 3, want: http.StatusOK},
		"completed during a watch":            {after: 4, want: http.StatusOK},
		"a watch fails for a reason that stays": {last: &apierrors.NewBadRequest("no").ErrStatus,
			want: http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			storage := newCachedStorage(t, genericregistry.StorageWithCacher())
			mustCreate(t, storage, newWebsite())
			clock := testingclock.NewFakeClock(time.Unix(1000, 0))
			watches := &endingWatches{Interface: storage.Sync.store.Storage.Storage, last: test.last}
			storage.Sync.clock, storage.Sync.store.Storage.Storage = clock, watches
			type result struct {
				code int
				err  error
			}
			done := make(chan result, 1)
			go func() {
				code, _, err := post(syncContext(t, "ci"), storage.Sync, 60, "")
				done <- result{code, err}
			}()
			// One timer is the limit of the wait, the other one the pause after a watch.
			for ended := int32(1); ended <= 3; ended++ {
				waitUntil(t, "a watch has ended", func() bool { return watches.begun.Load() == ended && clock.Waiters() == 2 })
				if ended == test.after {
					report(t, storage, complete(v1beta1.SyncSucceeded, commitB))
				}
				clock.Step(rewatchPause)
				if ended == test.after {
					break
				}
			}
			if test.after == 4 {
				waitUntil(t, "a watch has begun", func() bool { return watches.begun.Load() == 4 })
				report(t, storage, complete(v1beta1.SyncSucceeded, commitB))
			}
			got := <-done
			if status, ok := got.err.(apierrors.APIStatus); ok {
				got.code = int(status.Status().Code)
			}
			if begun := watches.begun.Load(); got.code != test.want || test.last == nil && begun != test.after {
				t.Errorf("answered %d (%v) after %d watches, want %d after %d", got.code, got.err, begun, test.want, test.after)
			}
		})
	}
}
