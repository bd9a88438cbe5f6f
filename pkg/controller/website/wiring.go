package website

import (
	corev1 "k8s.io/api/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/observer"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// newObserver returns what asks the pods.
func (c *Controller) newObserver(config Config, pods corev1listers.PodLister) *observer.Observer {
	return observer.New(observer.Config{
		Pods: config.Pods,
		Lookup: func(key cache.ObjectName) (*corev1.Pod, error) {
			return pods.Pods(key.Namespace).Get(key.Name)
		},
		Wanted: c.isOfWebsite,
		Siblings: func(pod *corev1.Pod) []*corev1.Pod {
			return c.podsOf(pod.Namespace, resources.WebsiteOfLabels(pod.Labels))
		},
		Changed:         func(pod *corev1.Pod) { c.enqueue(websiteOfPod(pod)) },
		Period:          config.ObservationPeriod,
		AdminPort:       resources.AdminPort,
		SyncMetricsPort: resources.SyncMetricsPort,
		Clock:           c.clock,
	})
}

// newQueue returns the work queue of the controller.
func newQueue(backoff workqueue.TypedRateLimiter[cache.ObjectName], priority *priorityQueue, clock clock.WithTicker) workqueue.TypedRateLimitingInterface[cache.ObjectName] {
	const name = "websites"
	storage := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[cache.ObjectName]{Name: name, Clock: clock, Queue: priority})
	// Named once only: each name registers metrics.
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[cache.ObjectName]{Name: name, Clock: clock, Queue: storage})
	return workqueue.NewTypedRateLimitingQueueWithConfig(backoff,
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{DelayingQueue: delaying})
}
