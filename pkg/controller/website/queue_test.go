package website

import (
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

func TestPriorityQueue(t *testing.T) {
	type add struct {
		name   string
		urgent bool
	}
	for name, test := range map[string]struct {
		adds []add
		want []string
	}{
		"first come, first served": {[]add{{"a", false}, {"b", false}, {"c", false}}, []string{"a", "b", "c"}},
		"urgent before periodic":   {[]add{{"a", false}, {"b", true}, {"c", false}, {"d", true}}, []string{"b", "d", "a", "c"}},
		"one that waits moves up":  {[]add{{"a", false}, {"b", false}, {"c", false}, {"c", true}}, []string{"c", "a", "b"}},
		"it does not move down":    {[]add{{"a", true}, {"b", true}, {"a", false}, {"c", false}}, []string{"a", "b", "c"}},
		"twice urgent is once":     {[]add{{"a", true}, {"b", true}, {"a", true}}, []string{"a", "b"}},
		"twice periodic is once":   {[]add{{"a", false}, {"b", false}, {"a", false}}, []string{"a", "b"}},
		"nobody starves": {
			[]add{{"p", false}, {"1", true}, {"2", true}, {"3", true}, {"4", true}, {"5", true}, {"6", true}, {"7", true}, {"8", true}, {"9", true}, {"10", true}, {"11", true}, {"12", true}},
			[]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "p", "11", "12"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			queue := newWebsiteQueue(clock.RealClock{})
			defer queue.ShutDown()
			for _, a := range test.adds {
				key := cache.NewObjectName(testNamespace, a.name)
				if a.urgent {
					queue.priority.mark(key)
				}
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

// TestUrgentWhileWorkedOn: what people change during a reconciliation is not lost, nor is
// its urgency.
func TestUrgentWhileWorkedOn(t *testing.T) {
	queue := newWebsiteQueue(clock.RealClock{})
	defer queue.ShutDown()
	queue.Add(testKey)
	key, _ := queue.Get()
	other := cache.NewObjectName(testNamespace, "other")
	queue.Add(other)
	queue.priority.mark(testKey)
	queue.Add(testKey)
	queue.Done(key)
	if got, _ := queue.Get(); got != testKey {
		t.Errorf("%v comes before the urgent one", got)
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
