package children

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// lagLimit is the time for which a cache may lag behind a write before its state is used nevertheless: a
	// store may have been restored to an older state.
	lagLimit = 30 * time.Second
	// maxWrites bounds the memory for writes that are not in the cache yet. A dropped one costs a
	// conflict or a write that changes nothing.
	maxWrites = 10_000
)

// NewCache returns a view of an informer's store that is never older than the controller's own writes
// and reads from the API server.
func NewCache(store cache.Store) cache.MutationCache {
	return &writes{cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), store,
		cache.MutationCacheOptions{TTL: lagLimit, MaxCacheSize: maxWrites})}
}

// writes is a MutationCache without objects that are in the store already: a watch may be faster than
// a response.
type writes struct{ cache.MutationCache }

// Mutation adds an object, and reads it, which drops an object that the store has.
func (w *writes) Mutation(obj any) {
	w.MutationCache.Mutation(obj)
	if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
		_, _, _ = w.GetByKey(key)
	}
}
