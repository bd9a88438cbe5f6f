package routes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/watched"
)

// kind is a kind that is watched while the cluster serves it.
type kind struct {
	resource string
	object   runtime.Object
	// selector of the labels; empty for all objects.
	selector string
	source   watched.Source
	store    *watched.Store
	// streams tells whether the client supports streamed lists.
	streams any
	// failure is the error of the last list request, nil if it succeeded.
	failure atomic.Pointer[string]

	stop    context.CancelFunc
	running sync.WaitGroup
}

// start starts a watch, which runs until end is called or the context ends. It does nothing if one
// runs.
func (k *kind) start(ctx context.Context) {
	if k.stop != nil {
		return
	}
	ctx, k.stop = context.WithCancel(ctx)
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(
		k.source(k.selector, k.observe), k.streams), k.object, k.store, cache.ReflectorOptions{Name: "routing " + k.resource})
	k.running.Go(func() { reflector.RunWithContext(ctx) })
}

func (k *kind) observe(err error) {
	if err == nil {
		k.failure.Store(nil)
		return
	}
	message := fmt.Sprintf("%s cannot be watched: %v", k.resource, err)
	k.failure.Store(&message)
}

// end stops the watch, and empties the cache. It does nothing if no watch runs.
func (k *kind) end() {
	if k.stop == nil {
		return
	}
	k.stop()
	k.running.Wait()
	k.stop = nil
	k.store.Clear()
}
