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
	// reconcileTimeout ends a reconciliation if the API server does not respond.
	reconcileTimeout = time.Minute
	// writeTimeout is the part of it for the children: a slow webhook must not prevent the write of
	// the status.
	writeTimeout = 40 * time.Second
)

// requeueAll queues all Websites after a change that concerns all of them.
func (c *Controller) requeueAll() {
	websites, err := c.lister.List(labels.Everything())
	if err != nil {
		return // Only an index that does not exist is an error.
	}
	for _, website := range websites {
		c.queue.EnqueueAs(cache.MetaObjectToName(website), queue.Background)
	}
}

// work takes one key from the queue. It returns false when the queue is shut down.
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
	ctx, span := startReconcile(ctx, c.tracer, key)
	problems := c.reconcile(ctx, key)
	result := c.queue.Requeue(ctx, key, problems)
	endReconcile(span, result, problems)
	metrics.RecordReconcile(result, time.Since(start))
	return true
}
