package encoding

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// maxCached is the size of the cache in bytes: 10,000 Websites with most fields and a status, as JSON
// and as protobuf in both versions. v1alpha1 takes two thirds of it, as its sets of fields are its own.
const maxCached = 112 << 20

const (
	// knownSets is the number of sets of fields that Websites share, and maxKnownSet the size of the largest, in
	// bytes.
	knownSets   = 256
	maxKnownSet = 8 << 10
)

const (
	// overhead is about what a Website takes beside what it is encoded as, and overheadOfFormat what each
	// format of it takes beside the bytes.
	overhead         = 256
	overheadOfFormat = 160
)

// maxOthers is how many lists of other copies of a Website leave its entry as it is.
const maxOthers = 4

// cache keeps the Websites of lists encoded for the next list. It does not keep their sets of
// fields, which the decoded Websites have.
//
// A decoded Website is identified by its managed fields in memory, which belong to it alone: the
// watch cache decodes a Website once for each version of it, and lists copy only the struct. UID
// and resourceVersion are not enough, as they repeat after a restore of etcd. What is no longer
// in memory is removed from the cache, so it does not outlive the object in the watch cache.
//
// The last version of a Website that was listed replaces another one: the watch cache has former versions
// in memory until enough events have followed. While the cache is full, nothing else is added:
// lists read all Websites in turn, so the least recently used is the next to be used.
type cache struct {
	limit int

	mu      sync.RWMutex
	entries map[types.UID]*cacheEntry
	bytes   int
	// sets are sets of fields that decoded Websites do not have: those of v1alpha1. Most Websites have the
	// same ones.
	sets *lru.Cache
}

// format is what a Website is encoded as.
type format struct {
	version   schema.GroupVersion
	mediaType string
}

// identity tells a decoded Website apart.
type identity = weak.Pointer[metav1.ManagedFieldsEntry]

// cacheEntry is a decoded Website in the formats of the lists that it was in.
type cacheEntry struct {
	decoded         identity
	resourceVersion string
	formats         []cachedFormat
	bytes           int
	// others is how many copies of the Website were listed since this one.
	others atomic.Int32
	// cleanup removes the entry when the decoded Website is no longer in memory.
	cleanup runtime.Cleanup
}

type cachedFormat struct {
	format
	*encodedWebsite
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: map[types.UID]*cacheEntry{}, sets: lru.New(knownSets)}
}

// isOf reports whether the entry is of this decoded Website. It may be nil. The weak pointer is not asked for its
// Website, which would keep that in memory.
func (e *cacheEntry) isOf(w *website.Website) bool {
	return e != nil && e.resourceVersion == w.ResourceVersion && len(w.ManagedFields) > 0 &&
		e.decoded == weak.Make(&w.ManagedFields[0])
}

// staysWith reports whether an entry of the same version of a Website stays, although this copy of it was listed. A
// list that is read from etcd decodes all of them once more, for itself.
func (e *cacheEntry) staysWith(w *website.Website) bool {
	return e != nil && e.resourceVersion == w.ResourceVersion && e.others.Add(1) <= maxOthers
}

// as returns the Website in a format, or nil.
func (e *cacheEntry) as(format format) *encodedWebsite {
	for i := range e.formats {
		if e.formats[i].format == format {
			return e.formats[i].encodedWebsite
		}
	}
	return nil
}

// get returns the encoded Website, or nil.
func (c *cache) get(w *website.Website, format format) *encodedWebsite {
	c.mu.RLock()
	defer c.mu.RUnlock()
	entry := c.entries[w.UID]
	if !entry.isOf(w) {
		return nil
	}
	if entry.others.Load() > 0 {
		entry.others.Store(0)
	}
	return entry.as(format)
}

// hasRoom reports whether an encoded Website of a size, without the sets that the decoded one has, may be kept.
func (c *cache) hasRoom(w *website.Website, size int) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	entry := c.entries[w.UID]
	return (entry.isOf(w) || !entry.staysWith(w)) && c.bytesWith(w, size) <= c.limit
}

// bytesWith returns the size of the cache with another format of this size.
func (c *cache) bytesWith(w *website.Website, size int) int {
	bytes := c.bytes + overheadOfFormat + size
	entry := c.entries[w.UID]
	if entry.isOf(w) {
		return bytes
	}
	if entry != nil {
		bytes -= entry.bytes
	}
	return bytes + overhead
}

// add keeps a copy of the encoded Website, and returns it, or nil if it is not kept.
func (c *cache) add(w *website.Website, format format, e *encodedWebsite) *encodedWebsite {
	if len(w.ManagedFields) == 0 {
		return nil // It cannot be identified.
	}
	whole, size, others := len(e.rest), len(e.rest), make([]bool, len(e.sets))
	belongs := setsOf(w)
	for i, set := range e.sets {
		whole += len(set)
		if others[i] = !belongs(set); others[i] {
			size += len(set)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, bytesThen := c.entries[w.UID], c.bytesWith(w, size)
	switch isKnown := entry.isOf(w); {
	case isKnown && entry.as(format) != nil:
		return entry.as(format)
	case bytesThen > c.limit:
		return nil
	case isKnown:
	case entry.staysWith(w):
		return nil
	case entry != nil && entry.decoded == weak.Make(&w.ManagedFields[0]):
		return nil // A copy that was changed is not what the watch cache has.
	default:
		entry = c.replace(entry, w)
	}
	kept := &encodedWebsite{rest: bytes.Clone(e.rest), sets: c.shared(e.sets, others),
		offsets: slices.Clone(e.offsets), size: whole}
	entry.formats = append(entry.formats, cachedFormat{format, kept})
	entry.bytes += overheadOfFormat + size
	c.bytes = bytesThen
	return kept
}

// replace adds an entry for a decoded Website in place of the former one, which may be nil.
func (c *cache) replace(former *cacheEntry, w *website.Website) *cacheEntry {
	if former != nil {
		// Its Website may stay in memory, and be added again and again.
		former.cleanup.Stop()
	}
	decoded := weak.Make(&w.ManagedFields[0])
	entry := &cacheEntry{decoded: decoded, resourceVersion: w.ResourceVersion, bytes: overhead}
	entry.cleanup = runtime.AddCleanup(&w.ManagedFields[0], func(uid types.UID) { c.remove(uid, decoded) }, w.UID)
	c.entries[w.UID] = entry
	return entry
}

// shared returns the sets, each of those that the Website does not have in memory as an equal one that others have, if
// it is known. It counts for each of them, so what the cache takes is at most what it counts.
func (c *cache) shared(sets [][]byte, others []bool) [][]byte {
	sets = slices.Clone(sets)
	for i, set := range sets {
		if len(set) > maxKnownSet || !others[i] {
			continue
		}
		if known, found := c.sets.Get(string(set)); found {
			sets[i] = known.([]byte)
		} else {
			c.sets.Add(string(set), set)
		}
	}
	return sets
}

// setsOf returns what reports whether a decoded Website has a set in memory. Clients may write Websites with thousands
// of sets, so they are not compared with each other.
func setsOf(w *website.Website) func(set []byte) bool {
	begins := make(map[*byte]struct{}, len(w.ManagedFields))
	for i := range w.ManagedFields {
		if raw := w.ManagedFields[i].FieldsV1.GetRawBytes(); len(raw) > 0 {
			begins[&raw[0]] = struct{}{}
		}
	}
	return func(set []byte) bool {
		if len(set) == 0 {
			return false
		}
		_, belongs := begins[&set[0]]
		return belongs
	}
}

// remove removes a Website that is no longer in memory, unless another version has replaced it.
func (c *cache) remove(uid types.UID, decoded identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry := c.entries[uid]; entry != nil && entry.decoded == decoded {
		c.bytes -= entry.bytes
		delete(c.entries, uid)
	}
}
