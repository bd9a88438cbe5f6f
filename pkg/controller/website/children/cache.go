package children

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// lagLimit is how long a cache may lag behind a write before it is believed
	// all the same: a store may have been restored to an older state.
	lagLimit = 30 * time.Second
	// maxWrites bounds the memory that writes take which the cache does not show
	// yet. What is dropped costs a conflict or a write that changes nothing.
	maxWrites = 10_000
)

// NewCache returns a view of an informer's store that never shows less than the
// controller has written or read from the API server.
func NewCache(store cache.Store) cache.MutationCache {
	return &writes{cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), store,
		cache.MutationCacheOptions{TTL: lagLimit, MaxCacheSize: maxWrites})}
}

// writes is a MutationCache that does not keep what the store has already: a watch may be faster than an answer.
type writes struct{ cache.MutationCache }

// Mutation keeps an object, and reads it, which drops what the store has.
func (w *writes) Mutation(obj any) {
	w.MutationCache.Mutation(obj)
	if key, err := cache.MetaNamespaceKeyFunc(obj); err == nil {
		_, _, _ = w.GetByKey(key)
	}
}
