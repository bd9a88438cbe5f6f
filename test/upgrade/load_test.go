package upgrade

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

const (
	namespace = metav1.NamespaceDefault
	// sites is the number of Websites that are written.
	sites = 5
	// writeInterval is the time between two writes of a Website.
	writeInterval = 50 * time.Millisecond
	// counter is the changed annotation.
	counter = "example.com/counter"
)

func siteName(i int) string { return fmt.Sprintf("site-%d", i) }

// load writes to Websites continuously, in both versions.
type load struct {
	clients framework.Clients
	// acknowledged is the last acknowledged number of each Website.
	acknowledged     [sites]atomic.Int64
	writes, failures atomic.Int64
}

// startLoad creates the Websites, and writes to them until the test ends.
func startLoad(t *testing.T, clients framework.Clients) *load {
	t.Helper()
	l := &load{clients: clients}
	for i := range sites {
		if _, err := clients.Websites.WebsiteV1beta1().Websites(namespace).Create(t.Context(),
			framework.NewWebsite(namespace, siteName(i)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i := range sites {
		writers.Go(func() { l.write(ctx, i) })
	}
	t.Cleanup(func() {
		stop()
		writers.Wait()
		t.Logf("%d writes were acknowledged, %d failed", l.writes.Load(), l.failures.Load())
	})
	return l
}

func (l *load) write(ctx context.Context, i int) {
	ticker := time.NewTicker(writeInterval)
	defer ticker.Stop()
	for n := int64(1); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, counter, n)
		var err error
		if n%2 == 0 {
			_, err = l.clients.Websites.WebsiteV1beta1().Websites(namespace).Patch(ctx, siteName(i), types.MergePatchType, patch,
				metav1.PatchOptions{})
		} else {
			_, err = l.clients.Websites.WebsiteV1alpha1().Websites(namespace).Patch(ctx, siteName(i), types.MergePatchType,
				patch, metav1.PatchOptions{})
		}
		if err != nil {
			l.failures.Add(1)
			continue
		}
		l.writes.Add(1)
		l.acknowledged[i].Store(n)
	}
}

// check waits until every Website is written again, and fails the test if a write was lost.
func (l *load) check(t *testing.T, when string) {
	t.Helper()
	for i := range sites {
		before := l.acknowledged[i].Load()
		framework.WaitFor(t, siteName(i)+" is written "+when, func(ctx context.Context) error {
			acknowledged := l.acknowledged[i].Load()
			if acknowledged == before {
				return fmt.Errorf("the last was write %d", before)
			}
			website, err := l.clients.Websites.WebsiteV1beta1().Websites(namespace).Get(ctx, siteName(i), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if stored, _ := strconv.ParseInt(website.Annotations[counter], 10, 64); stored < acknowledged {
				t.Errorf("%s: write %d of %s was acknowledged, and the Website has %d", when, acknowledged, siteName(i), stored)
			}
			return nil
		})
	}
}
