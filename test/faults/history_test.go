package faults

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// history records every state of a Website in its store.
type history struct {
	stop func()
	mu   sync.Mutex
	// statuses are the distinct successive statuses.
	statuses []v1beta1.WebsiteStatus
}

// record starts to record an existing or future Website.
func record(t *testing.T, w world, name string) *history {
	t.Helper()
	watcher, err := websites.WebsiteV1beta1().Websites(w.namespace).Watch(t.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{stop: watcher.Stop}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			if site, ok := event.Object.(*v1beta1.Website); ok && event.Type != watch.Deleted {
				h.add(site.Status)
			}
		}
	}()
	t.Cleanup(func() {
		watcher.Stop()
		<-done
	})
	return h
}

func (h *history) add(status v1beta1.WebsiteStatus) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.statuses); n > 0 && fmt.Sprint(h.statuses[n-1]) == fmt.Sprint(status) {
		return
	}
	h.statuses = append(h.statuses, status)
}

// all waits until the history has reached a generation, and returns it.
func (h *history) all(ctx context.Context, t *testing.T, generation int64) []v1beta1.WebsiteStatus {
	t.Helper()
	var seen []v1beta1.WebsiteStatus
	err := waitUntil(ctx, func(context.Context) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		seen = append(seen[:0], h.statuses...)
		if len(seen) == 0 || seen[len(seen)-1].ObservedGeneration < generation {
			return fmt.Errorf("generation %d is not in the history", generation)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// flaps reports each step back of a status: an older generation after a newer one, or Ready that
// becomes false again within a generation without a loss of available pods.
func flaps(statuses []v1beta1.WebsiteStatus) []string {
	var problems []string
	wasReady := map[int64]bool{}
	for i, status := range statuses {
		if i > 0 && status.ObservedGeneration < statuses[i-1].ObservedGeneration {
			problems = append(problems, fmt.Sprintf("generation %d comes after %d", status.ObservedGeneration,
				statuses[i-1].ObservedGeneration))
		}
		ready := meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady)
		lost := i > 0 && status.AvailableReplicas < statuses[i-1].AvailableReplicas
		if wasReady[status.ObservedGeneration] && !ready && !lost {
			problems = append(problems, fmt.Sprintf("generation %d is no longer Ready: %+v", status.ObservedGeneration,
				status.Conditions))
		}
		wasReady[status.ObservedGeneration] = ready || wasReady[status.ObservedGeneration] && !lost
	}
	return problems
}
