package encoding

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// formats are the formats of the tests.
var formats = []format{{versions[0], "application/json"}, {versions[1], "application/json"},
	{versions[0], "application/vnd.kubernetes.protobuf"}}

// encodedAs is an encoded Website of this size.
func encodedAs(size int) pieces { return pieces{make([]byte, size)} }

func TestCacheKnowsDecodedWebsites(t *testing.T) {
	c := newCache(maxCached)
	w := newServed(0)
	c.add(&w, formats[0], encodedAs(1))

	copied, decodedAgain, changed, unmanaged := w, *w.DeepCopy(), w, w
	changed.ResourceVersion = "another"
	unmanaged.ManagedFields = nil
	tests := map[string]struct {
		website *website.Website
		format  int
		want    bool
	}{
		"the same":                   {&w, 0, true},
		"a copy of the struct":       {&copied, 0, true},
		"in another version":         {&w, 1, false},
		"in another media type":      {&w, 2, false},
		"equal, but decoded again":   {&decodedAgain, 0, false},
		"another resourceVersion":    {&changed, 0, false},
		"without any managed fields": {&unmanaged, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := c.get(test.website, formats[test.format]); (got != nil) != test.want {
				t.Errorf("got %v, want found: %t", got, test.want)
			}
		})
	}
	other := newServed(1)
	other.ManagedFields = nil
	if c.add(&other, formats[0], encodedAs(1)); len(c.entries[formats[0]]) != 1 {
		t.Error("a Website without managed fields is kept, which is not identified")
	}
}

func TestCacheIsBounded(t *testing.T) {
	const size, fit = 1000, 3
	const each = size + overhead
	c := newCache(fit*each + size)
	list := newServedList(2 * fit)
	for range 2 {
		for i := range list.Items {
			c.add(&list.Items[i], formats[0], encodedAs(size))
		}
	}
	if entries := len(c.entries[formats[0]]); entries != fit || c.bytes != fit*each {
		t.Errorf("%d Websites with %d bytes are kept, want %d with %d", entries, c.bytes, fit, fit*each)
	}
	// The first ones stay: a list that begins again finds them.
	if c.get(&list.Items[0], formats[0]) == nil {
		t.Error("the first Website was replaced")
	}
}

// TestCacheOfTwoVersions: a Website that is listed in two versions in turn, as a page of a former list is, is kept in
// the last one, and takes no more memory however often they replace each other.
func TestCacheOfTwoVersions(t *testing.T) {
	c := newCache(maxCached)
	w := newServed(0)
	measure := func() uint64 {
		var stats runtime.MemStats
		for range 2 { // The second waits for the sweep of the first.
			runtime.GC()
		}
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := measure()
	const times = 20_000
	for range times {
		former := *w.DeepCopy()
		former.ResourceVersion = "1"
		c.add(&former, formats[0], encodedAs(1))
		if c.add(&w, formats[0], encodedAs(1)); c.get(&w, formats[0]) == nil || c.get(&former, formats[0]) != nil {
			t.Fatal("the last version that was listed is not the one that is kept")
		}
	}
	if grown := int64(measure()) - int64(before); grown > times*16 {
		t.Errorf("%d replacements took %d bytes, want hardly any", times, grown)
	}
	runtime.KeepAlive(&w)
}

// TestCacheReplacesFormerVersions: a Website that changes takes no more space.
func TestCacheReplacesFormerVersions(t *testing.T) {
	const size = 1000
	c := newCache(size + overhead)
	former, now, other := newServed(0), newServed(0), newServed(1)
	now.ResourceVersion = "6000"
	c.add(&former, formats[0], encodedAs(size))
	if c.add(&other, formats[0], encodedAs(size)); c.get(&other, formats[0]) != nil {
		t.Error("there is room for another Website")
	}
	if c.add(&now, formats[0], encodedAs(size-1)); c.get(&now, formats[0]) == nil ||
		c.get(&former, formats[0]) != nil || c.bytes != size-1+overhead {
		t.Errorf("the former version stays: %v, of %d bytes", c.entries, c.bytes)
	}
}

// TestCacheForgets: entries that no list uses are removed, such as entries of deleted Websites.
func TestCacheForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(maxCached)
		list := newServedList(3)
		for i := range list.Items {
			c.add(&list.Items[i], formats[i], encodedAs(1))
		}
		kept := func() (kept, bytes int) {
			c.mu.RLock()
			defer c.mu.RUnlock()
			for _, entries := range c.entries {
				kept += len(entries)
			}
			return kept, c.bytes
		}
		for range 10 {
			time.Sleep(keptUnused / 3)
			c.get(&list.Items[0], formats[0])
		}
		if got, bytes := kept(); got != 1 || bytes != overhead+1 {
			t.Errorf("%d Websites with %d bytes are kept, want the one that lists use", got, bytes)
		}
		time.Sleep(3 * keptUnused)
		if got, bytes := kept(); got != 0 || bytes != 0 {
			t.Errorf("%d Websites with %d bytes are kept, want none", got, bytes)
		}
		// It begins again.
		c.add(&list.Items[0], formats[0], encodedAs(1))
		time.Sleep(3 * keptUnused)
		if got, _ := kept(); got != 0 {
			t.Errorf("%d Websites are kept the second time, want none", got)
		}
	})
}

// TestCachedSetsAreShared: the cache has sets of fields once, however many Websites have them in whatever format.
func TestCachedSetsAreShared(t *testing.T) {
	for _, version := range versions {
		_, ours := newSerializers(t)
		list := newServedList(2)
		for i, entry := range list.Items[0].ManagedFields { // The store has equal sets once.
			list.Items[1].ManagedFields[i].FieldsV1 = entry.FieldsV1
		}
		var cached []pieces
		for _, mediaType := range []string{formats[0].mediaType, formats[2].mediaType} {
			encoded(encoderFor(t, ours, mediaType, version), list)
			for i := range list.Items {
				cached = append(cached, ours.(*negotiated).cache.get(&list.Items[i], format{version, mediaType}))
			}
		}
		for i, p := range cached {
			if len(p) != 2*len(list.Items[0].ManagedFields)+1 || &p[1][0] != &cached[0][1][0] || &p[3][0] != &cached[0][3][0] {
				t.Errorf("in %s, the sets of the %d-th encoded Website are copies", version, i)
			}
			if own := p.size() - len(p[1]) - len(p[3]); cap(p[0]) > own+own/4 {
				t.Errorf("in %s, the %d-th encoded Website takes %d bytes beside the sets, want %d", version, i, cap(p[0]), own)
			}
		}
	}
}
