package routes

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/website/watched"
)

// defaultDiscoveryPeriod is the discovery interval: short enough for a user who installs Gateway API,
// and one small request per kind.
const defaultDiscoveryPeriod = 30 * time.Second

// kind is a kind of objects that is watched as soon as the cluster serves it.
type kind struct {
	resource  string
	store     *watched.Store
	reflector *cache.Reflector
	// changed is called when the cluster no longer serves the kind.
	changed func()
	clock   clock.Clock
	period  time.Duration

	// isMissing is true while the cluster does not serve the kind.
	isMissing atomic.Bool
	// failure is the error of the last request, nil if it succeeded.
	failure atomic.Pointer[string]
}

func newKind(resource string, store *watched.Store, config WatchConfig, changed func()) *kind {
	return &kind{resource: resource, store: store, changed: changed, clock: config.Clock,
		period: cmp.Or(config.DiscoveryPeriod, defaultDiscoveryPeriod)}
}

// reflect keeps the objects of a source in the store. The client tells whether it supports streamed
// lists.
func (k *kind) reflect(object runtime.Object, source *cache.ListWatch, client any) *kind {
	k.reflector = cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, client), object, k.store,
		cache.ReflectorOptions{Name: "routing " + k.resource})
	return k
}

// try makes a request as soon as the cluster serves the kind.
func (k *kind) try(ctx context.Context, request func() error) error {
	for {
		err := request()
		switch {
		case err == nil:
			k.failure.Store(nil)
			k.isMissing.Store(false)
			return nil
		case !apierrors.IsNotFound(err):
			message := fmt.Sprintf("%s cannot be watched: %v", k.resource, err)
			k.failure.Store(&message)
			return err
		case !k.isMissing.Swap(true):
			klog.FromContext(ctx).Info("The cluster does not serve a kind that routes hosts", "resource", k.resource)
			k.store.Clear()
			k.changed()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-k.clock.After(k.period):
		}
	}
}

// unknown returns the reason why the objects are unknown, or "".
func (k *kind) unknown() string {
	if k.store.HasSynced() {
		return ""
	}
	if failure := k.failure.Load(); failure != nil {
		return *failure
	}
	return k.resource + " are not listed yet"
}
