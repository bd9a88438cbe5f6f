package fairqueue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
)

func newQueue(share int) *Queue[cache.ObjectName] {
	return New(share, func(key cache.ObjectName) string { return key.Namespace })
}

// TestOrder pushes keys, named by their namespace and a number, and takes all that may
// be in flight at once.
func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		share  int
		pushed []string
		// busy are the namespaces of keys in flight.
		busy []string
		want []string
	}{
		"none":                               {3, nil, nil, nil},
		"in the order in which they came":    {3, []string{"a1", "a2"}, nil, []string{"a1", "a2"}},
		"in turns":                           {3, []string{"a1", "a2", "a3", "b1", "b2"}, nil, []string{"a1", "b1", "a2", "b2", "a3"}},
		"not more than the share":            {2, []string{"a1", "a2", "a3"}, nil, []string{"a1", "a2"}},
		"the share counts what is in flight": {2, []string{"a1", "a2"}, []string{"a"}, []string{"a1"}},
		"the share is used up":               {1, []string{"a1"}, []string{"a"}, nil},
		"first the one with fewer in flight": {4, []string{"a1", "b1", "b2"}, []string{"a", "a"}, []string{"b1", "b2", "a1"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(test.share)
			for _, namespace := range test.busy {
				q.Push(cache.NewObjectName(namespace, "busy"))
				if got := q.Pop(); got.Namespace != namespace {
					t.Fatalf("took %v", got)
				}
			}
			for _, name := range test.pushed {
				q.Push(cache.NewObjectName(name[:1], name))
			}
			var got []string
			for q.Len() > 0 {
				got = append(got, q.Pop().Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("took %q, want %q", got, test.want)
			}
		})
	}
}

// TestTimeCounts: of two namespaces with keys that wait, that whose keys are quick has more of
// them taken.
func TestTimeCounts(t *testing.T) {
	q := newQueue(1)
	took := map[string]time.Duration{"quick": time.Millisecond, "slow": time.Second}
	for i := range 50 {
		q.Push(cache.NewObjectName("slow", fmt.Sprint(i)))
		q.Push(cache.NewObjectName("quick", fmt.Sprint(i)))
	}
	taken := map[string]int{}
	for range 52 {
		key := q.Pop()
		taken[key.Namespace]++
		q.Finish(key, took[key.Namespace])
	}
	if taken["quick"] != 50 {
		t.Errorf("taken: %v", taken)
	}
	q.Push(cache.NewObjectName("quick", "late"))
	q.Push(cache.NewObjectName("another", "late"))
	for range 2 {
		if key := q.Pop(); key.Namespace == "slow" {
			t.Errorf("%v is before those that took less time", key)
		}
	}
}

// TestNamespacesAreForgotten: namespaces that are gone leave nothing behind.
func TestNamespacesAreForgotten(t *testing.T) {
	q := newQueue(1)
	for i := range 10 {
		q.Push(cache.NewObjectName(fmt.Sprint(i), "pod"))
	}
	for q.Len() > 0 {
		q.Finish(q.Pop(), time.Second)
	}
	if len(q.lanes) > 0 {
		t.Errorf("%d namespaces are remembered", len(q.lanes))
	}
}

// BenchmarkQueue takes the keys of many namespaces.
func BenchmarkQueue(b *testing.B) {
	for _, namespaces := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("%d namespaces", namespaces), func(b *testing.B) {
			q := newQueue(10)
			for i := range 10_000 {
				q.Push(cache.NewObjectName(fmt.Sprint(i%namespaces), fmt.Sprint(i)))
			}
			for b.Loop() {
				if q.Len() == 0 {
					b.Fatal("nothing may be taken")
				}
				key := q.Pop()
				q.Finish(key, time.Millisecond)
				q.Push(key)
			}
		})
	}
}
