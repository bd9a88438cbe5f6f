package encoding

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// formats are those of tests.
var formats = []format{{versions[0], "application/json"}, {versions[1], "application/json"},
	{versions[0], "application/vnd.kubernetes.protobuf"}}

// encodedAs is an encoded Website of this size.
func encodedAs(size int) *encodedWebsite { return &encodedWebsite{rest: make([]byte, size)} }

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
	if got := c.add(&changed, formats[0], encodedAs(2)); got != nil {
		t.Errorf("a changed copy is kept as %v", got)
	}
	c.add(&unmanaged, formats[0], encodedAs(1))
	if len(c.entries) != 1 {
		t.Errorf("%d entries, want 1: a Website without managed fields is not identified", len(c.entries))
	}
}

func TestCacheIsBounded(t *testing.T) {
	const size, fit = 1000, 3
	const each = size + overhead + overheadOfFormat
	c := newCache(fit*each + size)
	list := newServedList(2 * fit)
	for range 2 {
		for i := range list.Items {
			c.add(&list.Items[i], formats[0], encodedAs(size))
		}
	}
	if len(c.entries) != fit || c.bytes != fit*each {
		t.Errorf("%d Websites with %d bytes are kept, want %d with %d", len(c.entries), c.bytes, fit, fit*each)
	}
	// The first ones stay: a list that begins again finds them.
	if c.get(&list.Items[0], formats[0]) == nil {
		t.Error("the first Website was replaced")
	}
}

// TestCacheOfTwoDecodedCopies: what is decoded once more for a list that is read from etcd replaces nothing.
func TestCacheOfTwoDecodedCopies(t *testing.T) {
	c := newCache(maxCached)
	w := newServed(0)
	for _, format := range formats {
		c.add(&w, format, encodedAs(1))
	}
	again := *w.DeepCopy()
	if got := c.add(&again, formats[0], encodedAs(1)); got != nil {
		t.Errorf("another copy is kept as %v", got)
	}
	for _, format := range formats {
		if c.get(&w, format) == nil {
			t.Errorf("the Website is not kept as %v", format)
		}
	}
	// If it is this one that is listed from now on, it is kept.
	for range maxOthers {
		c.add(&again, formats[0], encodedAs(1))
	}
	if c.hasRoom(&again, 1); c.add(&again, formats[0], encodedAs(1)) == nil || c.get(&again, formats[0]) == nil {
		t.Error("what is listed again and again is not kept")
	}
	runtime.KeepAlive(&w)
}

// TestCacheOfTwoVersions: a Website that is listed in two versions in turn, as a page of a former list is, has one
// cleanup for each however often they replace each other.
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
		if c.add(&w, formats[0], encodedAs(1)) == nil {
			t.Fatal("a Website in memory is not kept")
		}
	}
	if grown := int64(measure()) - int64(before); grown > times*16 {
		t.Errorf("%d replacements took %d bytes, want hardly any", times, grown)
	}
	runtime.KeepAlive(&w)
}

// TestCacheReplacesFormerVersions: what the watch cache keeps of the past takes no space.
func TestCacheReplacesFormerVersions(t *testing.T) {
	const size = 1000
	c := newCache(size + overhead + overheadOfFormat)
	former, now, other := newServed(0), newServed(0), newServed(1)
	now.ResourceVersion = "6000"
	c.add(&former, formats[0], encodedAs(size))
	if c.add(&other, formats[0], encodedAs(size)) != nil || !c.hasRoom(&now, size) {
		t.Error("there is room for another Website, or none for another version of the same")
	}
	if c.add(&now, formats[0], encodedAs(size-1)) == nil || c.get(&now, formats[0]) == nil ||
		c.get(&former, formats[0]) != nil || c.bytes != size-1+overhead+overheadOfFormat {
		t.Errorf("the former version stays: %v, of %d bytes", c.entries, c.bytes)
	}
	// The former one leaves memory later.
	c.remove(former.UID, weak.Make(&former.ManagedFields[0]))
	if c.get(&now, formats[0]) == nil {
		t.Error("with the former version, the last one was removed")
	}
}

// TestCacheCountsItsOwnBytes: sets that the Website has in memory take no more space.
func TestCacheCountsItsOwnBytes(t *testing.T) {
	c := newCache(maxCached)
	w := newServed(0)
	theirs, own := w.ManagedFields[0].FieldsV1.GetRawBytes(), []byte(`{"f:spec":{}}`)
	c.add(&w, formats[0], &encodedWebsite{rest: make([]byte, 10), sets: [][]byte{theirs, own}, offsets: []int{1, 2}})
	if want := overhead + overheadOfFormat + 10 + len(own); c.bytes != want {
		t.Errorf("%d bytes are counted, want %d", c.bytes, want)
	}
}

// TestCacheForgets: what the watch cache no longer has is removed.
func TestCacheForgets(t *testing.T) {
	_, ours := newSerializers(t)
	c := ours.(*negotiated).cache
	kept, others := newServedList(5), newServedList(25)
	others.Items = others.Items[len(kept.Items):]
	for _, list := range []*website.WebsiteList{kept, others} {
		for _, format := range formats {
			encoded(encoderFor(t, ours, format.mediaType, format.version), list)
		}
	}
	remaining := func() (int, int) {
		c.mu.RLock()
		defer c.mu.RUnlock()
		return len(c.entries), c.bytes
	}
	want := len(kept.Items)
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			runtime.GC()
			entries, _ := remaining()
			return entries <= want, nil
		})
	entries, bytes := remaining()
	if err != nil || entries != want || bytes == 0 {
		t.Errorf("%d Websites with %d bytes are kept, want the %d in use: %v", entries, bytes, want, err)
	}
	runtime.KeepAlive(kept)
	kept = nil
	err = wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			runtime.GC()
			entries, bytes = remaining()
			return entries == 0 && bytes == 0, nil
		})
	if err != nil {
		t.Errorf("%d Websites with %d bytes are kept, want none: %v", entries, bytes, err)
	}
}

// TestCachedSetsAreShared: the cache has no copies of what the decoded Website has, and those of v1alpha1, which
// differ, once.
func TestCachedSetsAreShared(t *testing.T) {
	_, ours := newSerializers(t)
	list := newServedList(1)
	for _, format := range []format{formats[0], formats[2]} {
		encoded(encoderFor(t, ours, format.mediaType, format.version), list)
		known := ours.(*negotiated).cache.get(&list.Items[0], format)
		if known == nil {
			t.Fatalf("the Website is not in the cache as %v", format)
		}
		for i, entry := range list.Items[0].ManagedFields {
			if len(known.sets) <= i || !setsOf(&list.Items[0])(known.sets[i]) {
				t.Errorf("as %v, the set of %s is a copy", format, entry.Manager)
			}
		}
	}
	_, ours = newSerializers(t)
	list = newServedList(2)
	for _, format := range []format{formats[1], {versions[1], formats[2].mediaType}} {
		encoded(encoderFor(t, ours, format.mediaType, format.version), list)
		cache := ours.(*negotiated).cache
		one, two := cache.get(&list.Items[0], format), cache.get(&list.Items[1], format)
		if one == nil || two == nil || len(one.sets) == 0 || &one.sets[0][0] != &two.sets[0][0] ||
			setsOf(&list.Items[0])(one.sets[0]) {
			t.Errorf("as %v, equal sets are there twice: %v, %v", format, one, two)
		}
	}
}
