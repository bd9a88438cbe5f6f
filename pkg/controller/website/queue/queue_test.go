package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

var site = cache.NewObjectName("default", "kubia")

func TestPriorityQueue(t *testing.T) {
	type add struct {
		name     string
		priority Priority
	}
	for name, test := range map[string]struct {
		adds []add
		want []string
	}{
		"first come, first served": {[]add{{"a", Background}, {"b", Background}, {"c", Background}},
			[]string{"a", "b", "c"}},
		"changes before background": {[]add{{"a", Background}, {"b", Changed}, {"c", Background}, {"d", Changed}},
			[]string{"b", "d", "a", "c"}},
		"availability before changes": {
			[]add{{"a", Background}, {"b", Changed}, {"c", Changed}, {"d", Available}, {"e", Available}},
			[]string{"d", "e", "b", "c", "a"},
		},
		"one that waits moves up": {[]add{{"a", Background}, {"b", Background}, {"c", Background}, {"c", Changed}},
			[]string{"c", "a", "b"}},
		"a new Website becomes available": {[]add{{"a", Changed}, {"b", Changed}, {"c", Changed}, {"c", Available}},
			[]string{"c", "a", "b"}},
		"it does not move down": {[]add{{"a", Changed}, {"b", Changed}, {"a", Background}, {"c", Background}},
			[]string{"a", "b", "c"}},
		"twice changed is once": {[]add{{"a", Changed}, {"b", Changed}, {"a", Changed}}, []string{"a", "b"}},
		"twice in background is once": {[]add{{"a", Background}, {"b", Background}, {"a", Background}},
			[]string{"a", "b"}},
		"namespaces take turns": {
			[]add{
				{"a/1", Changed}, {"a/2", Changed}, {"a/3", Changed}, {"a/4", Changed}, {"b/5", Changed}, {"b/6", Changed},
				{"c/7", Changed}, {"c/8", Background},
			},
			[]string{"1", "5", "7", "2", "6", "3", "4", "8"},
		},
		"one that moves up takes the turn of its namespace": {
			[]add{{"a/1", Changed}, {"a/2", Changed}, {"a/3", Changed}, {"b/4", Background}, {"b/4", Changed}},
			[]string{"1", "4", "2", "3"},
		},
		"no Website starves": {
			[]add{{"p", Background}, {"1", Changed}, {"2", Changed}, {"3", Changed}, {"4", Changed}, {"5", Changed},
				{"6", Changed}, {"7", Changed}, {"8", Changed}, {"9", Changed}, {"10", Changed}, {"11", Changed}, {"12", Changed}},
			[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "p", "11", "12"},
		},
		"neither of two priorities starves": {
			[]add{{"p", Background}, {"q", Changed}, {"1", Available}, {"2", Available}, {"3", Available}, {"4", Available},
				{"5", Available}, {"6", Available}, {"7", Available}, {"8", Available}, {"9", Available}, {"10", Available},
				{"11", Available}, {"12", Available}},
			[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "p", "q", "11", "12"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			queue := New(clock.RealClock{})
			defer queue.ShutDown()
			for _, a := range test.adds {
				namespace, name, ok := strings.Cut(a.name, "/")
				if !ok {
					namespace, name = "default", a.name
				}
				key := cache.NewObjectName(namespace, name)
				queue.storage.mark(key, a.priority)
				queue.Add(key)
			}
			var got []string
			for queue.Len() > 0 {
				key, _ := queue.Get()
				queue.Done(key)
				got = append(got, key.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("handed out %q, want %q", got, test.want)
			}
		})
	}
}

// TestFloodOfANamespace: at most one Website of each other namespace is taken before a Website of a
// quiet namespace, however many wait there and however many were taken before.
func TestFloodOfANamespace(t *testing.T) {
	queue := New(clock.RealClock{})
	defer queue.ShutDown()
	add := func(namespace, name string) {
		key := cache.NewObjectName(namespace, name)
		queue.storage.mark(key, Changed)
		queue.Add(key)
	}
	const floods = 3
	for i := range 400 {
		for flood := range floods {
			add(fmt.Sprintf("flood-%d", flood), fmt.Sprint(i))
		}
	}
	for arrival := range 20 {
		add("quiet", fmt.Sprint(arrival))
		before := map[string]int{}
		for {
			key, _ := queue.Get()
			queue.Done(key)
			if key.Namespace == "quiet" {
				break
			}
			before[key.Namespace]++
		}
		for namespace, n := range before {
			if n > 1 {
				t.Errorf("%d Websites of %s come before number %d of the quiet namespace", n, namespace, arrival)
			}
		}
		// Websites of the flooded namespaces are taken meanwhile.
		for range arrival {
			key, _ := queue.Get()
			queue.Done(key)
		}
	}
}

// TestPriorityOfAChangeDuringAReconciliation: neither the change nor its priority is lost.
func TestPriorityOfAChangeDuringAReconciliation(t *testing.T) {
	queue := New(clock.RealClock{})
	defer queue.ShutDown()
	queue.Add(site)
	key, _ := queue.Get()
	other := cache.NewObjectName("default", "other")
	queue.Add(other)
	queue.storage.mark(site, Changed)
	queue.Add(site)
	queue.Done(key)
	if got, _ := queue.Get(); got != site {
		t.Errorf("%v comes before the changed one", got)
	}
}

func TestBackoffHasACap(t *testing.T) {
	queue := New(clock.RealClock{})
	defer queue.ShutDown()
	var wait time.Duration
	for range 100 {
		wait = queue.backoff.When(site)
	}
	if wait != maxRetry {
		t.Errorf("after many errors the wait is %v, want %v", wait, maxRetry)
	}
}

// TestApart: problems that do not affect the site have their own backoff. They do not delay retries
// of problems that affect it, and do not make its first failure look persistent.
func TestApart(t *testing.T) {
	queue := New(clock.RealClock{})
	defer queue.ShutDown()
	broken := problem.Classify(errors.New("connection refused"))
	for range 5 {
		queue.Requeue(t.Context(), site, []*problem.Problem{broken.RetriedApart()})
	}
	if ours, apart := queue.NumRequeues(site), queue.NumRequeuesApart(site); ours != 0 || apart != 5 {
		t.Errorf("%d and %d failures, want 0 of the site, 5 of the rest", ours, apart)
	}
	queue.Requeue(t.Context(), site, []*problem.Problem{broken, broken.RetriedApart()})
	if ours, apart := queue.NumRequeues(site), queue.NumRequeuesApart(site); ours != 1 || apart != 6 {
		t.Errorf("%d and %d failures, want 1 of the site, 6 of the rest", ours, apart)
	}
	queue.Requeue(t.Context(), site, nil)
	if ours, apart := queue.NumRequeues(site), queue.NumRequeuesApart(site); ours != 0 || apart != 0 {
		t.Errorf("%d and %d failures after a success", ours, apart)
	}
}
