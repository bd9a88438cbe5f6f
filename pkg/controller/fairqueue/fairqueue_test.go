package fairqueue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
)

func newQueue(share int) *Queue[cache.ObjectName] {
	return New(share, func(key cache.ObjectName) string { return key.Namespace })
}

// TestOrder pushes keys, named by their namespace and a number, and takes all keys that may be in
// flight at the same time.
func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		share  int
		pushed []string
		// busy lists the namespaces of keys in flight.
		busy []string
		want []string
	}{
		"none":                            {3, nil, nil, nil},
		"in the order in which they came": {3, []string{"a1", "a2"}, nil, []string{"a1", "a2"}},
		"in turns": {3, []string{"a1", "a2", "a3", "b1", "b2"}, nil,
			[]string{"a1", "b1", "a2", "b2", "a3"}},
		"not more than the share":            {2, []string{"a1", "a2", "a3"}, nil, []string{"a1", "a2"}},
		"the share counts keys in flight":    {2, []string{"a1", "a2"}, []string{"a"}, []string{"a1"}},
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

// TestRemove: a removed key is not handed out; its namespace keeps its turn.
func TestRemove(t *testing.T) {
	q := newQueue(3)
	for _, name := range []string{"a1", "a2", "b1", "c1"} {
		q.Push(cache.NewObjectName(name[:1], name))
	}
	q.Remove(cache.NewObjectName("a", "a1"))
	q.Remove(cache.NewObjectName("c", "c1"))
	var got []string
	for q.Len() > 0 {
		got = append(got, q.Pop().Name)
	}
	if want := []string{"a2", "b1"}; !slices.Equal(got, want) {
		t.Errorf("took %q, want %q", got, want)
	}
	if len(q.lanes) != 2 {
		t.Errorf("%d namespaces are remembered, want 2 with a key in flight", len(q.lanes))
	}
}

// TestTimeCounts: of two namespaces with waiting keys, more keys are taken from the namespace with
// the faster keys.
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

// TestNextOfAll: after any sequence of calls, the next key belongs to the lane that is before all
// others.
func TestNextOfAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	q := newQueue(3)
	var inFlight []cache.ObjectName
	for i := range 20_000 {
		switch n := random.IntN(4); {
		case n == 0 && len(inFlight) > 0:
			taken := random.IntN(len(inFlight))
			q.Finish(inFlight[taken], time.Duration(random.IntN(5))*time.Second)
			inFlight = slices.Delete(inFlight, taken, taken+1)
		case n == 1 && q.Len() > 0:
			var want *lane[cache.ObjectName]
			for _, l := range q.lanes {
				if l.permitted(q.share) > 0 && (want == nil || l.isBefore(want)) {
					want = l
				}
			}
			first := want.waiting[0].key
			got := q.Pop()
			if got != first {
				t.Fatalf("at step %d %v is taken, want %v", i, got, first)
			}
			inFlight = append(inFlight, got)
		default:
			q.Push(cache.NewObjectName(fmt.Sprint(random.IntN(50)), fmt.Sprint(i)))
		}
	}
}

// TestManyNamespaces: the time per key does not grow with the number of namespaces. After a start
// there is a lane for every namespace with Websites.
func TestManyNamespaces(t *testing.T) {
	fastest := func(namespaces int) time.Duration {
		var best time.Duration
		for range 3 {
			q := newQueue(10)
			for i := range namespaces {
				q.Push(cache.NewObjectName(fmt.Sprint(i), "pod"))
			}
			begun := time.Now()
			for range 500 {
				q.Pop()
			}
			if took := time.Since(begun); best == 0 || took < best {
				best = took
			}
		}
		return best
	}
	if few, many := fastest(500), fastest(50_000); many > 100*few {
		t.Errorf("a hundred times the namespaces take %.0f times as long", float64(many)/float64(few))
	}
}

// TestNamespacesAreForgotten: the queue keeps no state of idle namespaces.
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
	for _, namespaces := range []int{1, 100, 1000, 10_000} {
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
