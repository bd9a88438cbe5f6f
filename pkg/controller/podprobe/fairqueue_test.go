package podprobe

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestFairQueue pushes pods, named by their namespace and a number, and takes all that may
// be probed at once.
func TestFairQueue(t *testing.T) {
	for name, test := range map[string]struct {
		share  int
		pushed []string
		// busy are the namespaces of probes in flight.
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
			q := newFairQueue(test.share)
			for _, namespace := range test.busy {
				q.Push(key{namespace, "busy"})
				if got := q.Pop(); got.namespace != namespace {
					t.Fatalf("took %v", got)
				}
			}
			for _, pod := range test.pushed {
				q.Push(key{pod[:1], types.UID(pod)})
			}
			var got []string
			for q.Len() > 0 {
				got = append(got, string(q.Pop().uid))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("took %q, want %q", got, test.want)
			}
		})
	}
}

// TestFairQueueCountsTime: of two namespaces with pods that wait, that whose probes are
// quick has more of them.
func TestFairQueueCountsTime(t *testing.T) {
	q := newFairQueue(1)
	took := map[string]time.Duration{"quick": time.Millisecond, "slow": time.Second}
	for i := range 50 {
		q.Push(key{"slow", types.UID(fmt.Sprint(i))})
		q.Push(key{"quick", types.UID(fmt.Sprint(i))})
	}
	probes := map[string]int{}
	for range 52 {
		k := q.Pop()
		probes[k.namespace]++
		q.finish(k, took[k.namespace])
	}
	if probes["quick"] != 50 {
		t.Errorf("probes: %v", probes)
	}
	q.Push(key{"quick", "late"})
	q.Push(key{"another", "late"})
	for range 2 {
		if k := q.Pop(); k.namespace == "slow" {
			t.Errorf("%v is before those that took less time", k)
		}
	}
}

// TestFairQueueForgets: namespaces that are gone leave nothing behind.
func TestFairQueueForgets(t *testing.T) {
	q := newFairQueue(1)
	for i := range 10 {
		q.Push(key{fmt.Sprint(i), "pod"})
	}
	for q.Len() > 0 {
		q.finish(q.Pop(), time.Second)
	}
	if len(q.lanes) > 0 {
		t.Errorf("%d namespaces are remembered", len(q.lanes))
	}
}

// BenchmarkFairQueue probes the pods of many namespaces.
func BenchmarkFairQueue(b *testing.B) {
	for _, namespaces := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("%d namespaces", namespaces), func(b *testing.B) {
			q := newFairQueue(10)
			for i := range 10_000 {
				q.Push(key{fmt.Sprint(i % namespaces), types.UID(fmt.Sprint(i))})
			}
			for b.Loop() {
				if q.Len() == 0 {
					b.Fatal("nothing may be probed")
				}
				k := q.Pop()
				q.finish(k, time.Millisecond)
				q.Push(k)
			}
		})
	}
}
