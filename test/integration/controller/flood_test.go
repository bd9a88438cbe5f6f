package controller

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

var floodWebsites = flag.Int("flood-websites", 100, "how many Websites are created at once")

// These bound the delay between an available Deployment and its Ready Website, its median and its 99th
// percentile, as shares of the time until all Websites are Ready. A share does not depend on the speed
// of the machine; "make bench-controller" measures the time. When new Websites starve the others they
// are four and eight tenths. Otherwise the median is two hundredths, and the 99th percentile a tenth
// when the machine stalls for a moment.
const maxMedianShare, maxTailShare = 0.05, 0.4

// arrivals records the time at which each name was first observed in a state.
type arrivals struct {
	mu sync.Mutex
	at map[string]time.Time
}

// record reads a watch until it ends.
func (a *arrivals) record(watcher watch.Interface, arrived func(watch.Event) (name string, is bool)) {
	for event := range watcher.ResultChan() {
		if name, is := arrived(event); is {
			a.mu.Lock()
			if _, ok := a.at[name]; !ok {
				a.at[name] = time.Now()
			}
			a.mu.Unlock()
		}
	}
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.at)
}

// TestReadyDuringAFlood creates many Websites at once. Each is reported Ready soon after its
// Deployment is available, although others still wait for their first reconcile.
func TestReadyDuringAFlood(t *testing.T) {
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	websites := client.Websites.WebsiteV1beta1().Websites(namespace)
	available, ready := &arrivals{at: map[string]time.Time{}}, &arrivals{at: map[string]time.Time{}}

	deploymentWatch, err := client.Kubernetes.AppsV1().Deployments(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	websiteWatch := framework.StartWatch(t, websites, metav1.ListOptions{})
	var watching, creating sync.WaitGroup
	watching.Go(func() {
		available.record(deploymentWatch, func(event watch.Event) (string, bool) {
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				return d.Name, d.Status.AvailableReplicas == 1
			}
			return "", false
		})
	})
	watching.Go(func() {
		ready.record(websiteWatch, func(event watch.Event) (string, bool) {
			if w, ok := event.Object.(*v1beta1.Website); ok {
				return w.Name, meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReady)
			}
			return "", false
		})
	})
	stop := func() {
		deploymentWatch.Stop()
		websiteWatch.Stop()
		watching.Wait()
	}
	defer stop()

	begin := time.Now()
	const creators = 20
	for creator := range creators {
		creating.Go(func() {
			for i := creator; i < *floodWebsites; i += creators {
				if _, err := websites.Create(ctx, framework.NewWebsite(namespace, fmt.Sprintf("flood-%d", i)),
					metav1.CreateOptions{}); err != nil {
					t.Errorf("creating a Website: %v", err)
				}
			}
		})
	}
	creating.Wait()
	created := time.Since(begin)
	// The timeout grows with the number of Websites.
	for range 1 + *floodWebsites/100 {
		before := ready.count()
		if before == *floodWebsites {
			break
		}
		framework.WaitFor(t, "more Websites are Ready", func(context.Context) error {
			if now := ready.count(); now < min(*floodWebsites, before+100) {
				return fmt.Errorf("%d of %d Websites are Ready", now, *floodWebsites)
			}
			return nil
		})
	}
	all := time.Since(begin)
	framework.WaitFor(t, "the watch of Deployments has shown that all are available", func(context.Context) error {
		if n := available.count(); n < *floodWebsites {
			return fmt.Errorf("%d of %d are", n, *floodWebsites)
		}
		return nil
	})
	stop()

	var delays []time.Duration
	for name, at := range ready.at {
		delays = append(delays, at.Sub(available.at[name]))
	}
	slices.Sort(delays)
	percentile := func(p int) time.Duration { return delays[(len(delays)-1)*p/100].Round(time.Millisecond) }
	t.Logf("%d Websites were created in %v and Ready after %v; from available to Ready p50 %v, p99 %v, longest %v",
		len(delays), created.Round(time.Millisecond), all.Round(time.Millisecond), percentile(50), percentile(99),
		percentile(100))
	for p, share := range map[int]float64{50: maxMedianShare, 99: maxTailShare} {
		if got, most := percentile(p), time.Duration(float64(all)*share); got > most {
			t.Errorf("from available to Ready p%d is %v, want at most %v: Websites that are created starve the others",
				p, got, most)
		}
	}
}
