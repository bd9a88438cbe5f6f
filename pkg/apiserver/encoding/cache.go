package encoding

import (
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

const (
	// maxCached is the size of the cache in bytes: 10,000 Websites with most fields and a status, as JSON and as
	// protobuf in both versions.
	maxCached = 144 << 20
	// overhead is the approximate size of an entry without the encoded Website.
	overhead = 256
	// keptUnused is the minimum lifetime of an entry that no list uses.
	keptUnused = 10 * time.Minute
)

// cache keeps encoded Websites for the next list, one version of each in each format. Entries that no list uses are
// removed, because the Website may be deleted. While the cache is full, nothing is added: lists read all Websites in
// turn, so the least recently used entry is the next to be used.
type cache struct {
	limit int

	mu      sync.RWMutex
	entries map[format]map[types.UID]*entry
	bytes   int
	// sweeping is set while a sweep is scheduled.
	sweeping bool
}

// format is a version and its encoding.
type format struct {
	version   schema.GroupVersion
	mediaType string
}

// entry is an encoded Website.
type entry struct {
	// decoded is the address of the decoded managed fields. It identifies the Website, because no two decoded Websites
	// share it and the entry keeps it from being reused.
	decoded         *metav1.ManagedFieldsEntry
	resourceVersion string
	encoded         pieces
	// used is set when a list uses the entry, and reset by sweep.
	used atomic.Bool
}

// size returns the bytes of the entry, 0 for nil. Shared sets of fields count in each entry, so the memory of the
// cache never exceeds the sum.
func (e *entry) size() int {
	if e == nil {
		return 0
	}
	return overhead + e.encoded.size()
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: map[format]map[types.UID]*entry{}}
}

// get returns the encoded Website, or nil.
func (c *cache) get(w *website.Website, f format) pieces {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.entries[f][w.UID]
	if e == nil || len(w.ManagedFields) == 0 || e.decoded != &w.ManagedFields[0] ||
		e.resourceVersion != w.ResourceVersion {
		return nil
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.encoded
}

// hasRoom reports whether an encoded Website of a size may be added.
func (c *cache) hasRoom(size int) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.bytes+overhead+size <= c.limit
}

// add keeps an encoded Website, in place of another version of it. One without managed fields cannot be identified.
func (c *cache) add(w *website.Website, f format, encoded pieces) {
	if len(w.ManagedFields) == 0 {
		return
	}
	e := &entry{decoded: &w.ManagedFields[0], resourceVersion: w.ResourceVersion, encoded: encoded}
	e.used.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes := c.bytes - c.entries[f][w.UID].size() + e.size()
	if bytes > c.limit {
		return
	}
	if c.entries[f] == nil {
		c.entries[f] = map[types.UID]*entry{}
	}
	c.entries[f][w.UID], c.bytes = e, bytes
	if !c.sweeping {
		c.sweeping = true
		time.AfterFunc(keptUnused, c.sweep)
	}
}

// sweep removes the entries that no list has used since the last sweep.
func (c *cache) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, entries := range c.entries {
		for uid, e := range entries {
			if !e.used.Swap(false) {
				c.bytes -= e.size()
				delete(entries, uid)
			}
		}
	}
	if c.sweeping = c.bytes > 0; c.sweeping {
		time.AfterFunc(keptUnused, c.sweep)
	}
}
