package install

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/test/framework"
)

// lists requests lists of Websites continuously.
type lists struct {
	stop  func()
	count int
	// failed are the start and end times of failed requests.
	failed [][2]time.Time
}

func startLists(t *testing.T) *lists {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l, client := &lists{}, framework.Admin(t).Websites.WebsiteV1beta1()
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			start := time.Now()
			_, err := client.Websites(metav1.NamespaceAll).List(context.WithoutCancel(ctx), metav1.ListOptions{})
			l.count++
			if err != nil {
				l.failed = append(l.failed, [2]time.Time{start, time.Now()})
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	l.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(l.stop)
	return l
}

// finish returns the numbers of all requests and of failed ones, and the longest period of
// failures, without a second between two of them.
func (l *lists) finish() (count, failed int, outage time.Duration) {
	l.stop()
	var first, last time.Time
	for _, request := range l.failed {
		if request[0].Sub(last) > time.Second {
			first = request[0]
		}
		last = request[1]
		outage = max(outage, last.Sub(first))
	}
	return l.count, len(l.failed), outage
}

// writeInterval is the time between two writes of a Website.
const writeInterval = 100 * time.Millisecond

// counterAnnotation is the changed annotation.
const counterAnnotation = "example.com/counter"

// writes changes Websites continuously.
type writes struct {
	clients              framework.Clients
	namespace            string
	last                 map[string]*atomic.Int64
	acknowledged, failed atomic.Int64
}

func startWrites(t *testing.T, namespace string, sites map[string]string) *writes {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writes{clients: framework.Admin(t), namespace: namespace, last: map[string]*atomic.Int64{}}
	var writers sync.WaitGroup
	for name := range sites {
		last := &atomic.Int64{}
		w.last[name] = last
		writers.Go(func() { w.write(ctx, name, last) })
	}
	t.Cleanup(func() {
		cancel()
		writers.Wait()
	})
	return w
}

func (w *writes) write(ctx context.Context, name string, last *atomic.Int64) {
	tick := time.NewTicker(writeInterval)
	defer tick.Stop()
	for n := int64(1); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, counterAnnotation, n)
		if _, err := w.clients.Websites.WebsiteV1beta1().Websites(w.namespace).Patch(ctx, name, types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			w.failed.Add(1)
			continue
		}
		w.acknowledged.Add(1)
		last.Store(n)
	}
}

// check waits until every Website is written again, and fails the test if a write was lost.
func (w *writes) check(t *testing.T) {
	t.Helper()
	for name, last := range w.last {
		before := last.Load()
		framework.WaitFor(t, name+" is written", func(ctx context.Context) error {
			acknowledged := last.Load()
			if acknowledged == before {
				return fmt.Errorf("the last was write %d", before)
			}
			website, err := w.clients.Websites.WebsiteV1beta1().Websites(w.namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if stored, _ := strconv.ParseInt(website.Annotations[counterAnnotation], 10, 64); stored < acknowledged {
				t.Errorf("write %d of %s was acknowledged, and the Website has %d", acknowledged, name, stored)
			}
			return nil
		})
	}
}
