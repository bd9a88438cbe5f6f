package website

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestPriorityQueue(t *testing.T) {
	type add struct {
		name     string
		priority priority
	}
	for name, test := range map[string]struct {
		adds []add
		want []string
	}{
		"first come, first served":  {[]add{{"a", background}, {"b", background}, {"c", background}}, []string{"a", "b", "c"}},
		"changes before background": {[]add{{"a", background}, {"b", changed}, {"c", background}, {"d", changed}}, []string{"b", "d", "a", "c"}},
		"availability before changes": {
			[]add{{"a", background}, {"b", changed}, {"c", changed}, {"d", available}, {"e", available}},
			[]string{"d", "e", "b", "c", "a"},
		},
		"one that waits moves up":         {[]add{{"a", background}, {"b", background}, {"c", background}, {"c", changed}}, []string{"c", "a", "b"}},
		"a new Website becomes available": {[]add{{"a", changed}, {"b", changed}, {"c", changed}, {"c", available}}, []string{"c", "a", "b"}},
		"it does not move down":           {[]add{{"a", changed}, {"b", changed}, {"a", background}, {"c", background}}, []string{"a", "b", "c"}},
		"twice changed is once":           {[]add{{"a", changed}, {"b", changed}, {"a", changed}}, []string{"a", "b"}},
		"twice in background is once":     {[]add{{"a", background}, {"b", background}, {"a", background}}, []string{"a", "b"}},
		"no Website starves": {
			[]add{{"p", background}, {"1", changed}, {"2", changed}, {"3", changed}, {"4", changed}, {"5", changed}, {"6", changed}, {"7", changed}, {"8", changed}, {"9", changed}, {"10", changed}, {"11", changed}, {"12", changed}},
			[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "p", "11", "12"},
		},
		"neither of two priorities starves": {
			[]add{{"p", background}, {"q", changed}, {"1", available}, {"2", available}, {"3", available}, {"4", available}, {"5", available}, {"6", available}, {"7", available}, {"8", available}, {"9", available}, {"10", available}, {"11", available}, {"12", available}},
			[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "p", "q", "11", "12"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			queue := newWebsiteQueue(clock.RealClock{})
			defer queue.ShutDown()
			for _, a := range test.adds {
				key := cache.NewObjectName(testNamespace, a.name)
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

// TestPriorityOfAChangeDuringAReconciliation: neither the change nor its priority is
// lost.
func TestPriorityOfAChangeDuringAReconciliation(t *testing.T) {
	queue := newWebsiteQueue(clock.RealClock{})
	defer queue.ShutDown()
	queue.Add(testKey)
	key, _ := queue.Get()
	other := cache.NewObjectName(testNamespace, "other")
	queue.Add(other)
	queue.storage.mark(testKey, changed)
	queue.Add(testKey)
	queue.Done(key)
	if got, _ := queue.Get(); got != testKey {
		t.Errorf("%v comes before the changed one", got)
	}
}

func TestBackoffHasACap(t *testing.T) {
	f := newFixture(t)
	var wait time.Duration
	for range 100 {
		wait = f.controller.queue.backoff.When(testKey)
	}
	if wait != maxRetry {
		t.Errorf("after many errors the wait is %v, want %v", wait, maxRetry)
	}
}

// TestAFloodDoesNotDelayAvailability: Websites are created faster than they are
// reconciled, and one that becomes available meanwhile is reconciled next.
func TestAFloodDoesNotDelayAvailability(t *testing.T) {
	f := newFixture(t)
	queue := f.controller.queue
	queue.running.Store(true)
	website := newWebsite()
	f.cacheWebsite(website)
	f.converge(website)
	for queue.Len() > 0 {
		key, _ := queue.Get()
		queue.Done(key)
	}
	for i := range 1000 {
		f.controller.handlers.websiteHandler().OnAdd(newWebsite(func(w *v1beta1.Website) { w.Name = fmt.Sprintf("new-%d", i) }), false)
	}
	before := f.deployment()
	after := before.DeepCopy()
	after.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	f.controller.handlers.childHandler(func(name string) (string, bool) { return name, true }).OnUpdate(before, after)
	if got, _ := queue.Get(); got != testKey {
		t.Errorf("%v comes before the Website that became available", got)
	}
}
