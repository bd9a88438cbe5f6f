package website

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
)

const (
	// reconcileTimeout ends a reconciliation that an API server keeps waiting.
	reconcileTimeout = time.Minute
	// writeTimeout is how much of it the children may take: a webhook that keeps one waiting does not keep
	// the status from being written.
	writeTimeout = 40 * time.Second
)

// requeueAll has all Websites reconciled, because something changed that concerns all.
func (c *Controller) requeueAll() {
	websites, err := c.websites.List(labels.Everything())
	if err != nil {
		return // Only an index that does not exist is an error.
	}
	for _, website := range websites {
		c.queue.EnqueueAs(cache.MetaObjectToName(website), queue.Background)
	}
}

// work takes one key from the queue. It returns false when there are no more.
func (c *Controller) work(ctx context.Context, stop <-chan struct{}) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	select {
	case <-stop:
		return true
	default:
	}

	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "website", key))
	start := time.Now()
	ctx, span := c.tracer.startReconcile(ctx, key)
	problems := c.reconciler.reconcile(ctx, key)
	result := c.queue.Requeue(ctx, key, problems)
	endReconcile(span, result, problems)
	metrics.RecordReconcile(result, time.Since(start))
	return true
}
