package website

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

const subsystem = "website_controller"

var (
	reconciles = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "reconciles_total",
		Help:           "Reconciliations of a Website, by result: success, name_taken (a child's name belongs to something else), conflict (retried silently) or error (retried).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	reconcileSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem:      subsystem,
		Name:           "reconcile_duration_seconds",
		Help:           "Duration of a reconciliation of a Website in seconds, by result.",
		Buckets:        metrics.ExponentialBuckets(0.001, 4, 8),
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	stepSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem:      subsystem,
		Name:           "reconcile_step_duration_seconds",
		Help:           "Duration of a step of a reconciliation of a Website in seconds, by step and result (success, name_taken, conflict or error).",
		Buckets:        metrics.ExponentialBuckets(0.0001, 5, 8),
		StabilityLevel: metrics.ALPHA,
	}, []string{"step", "result"})

	childWrites = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "child_writes_total",
		Help:           "Children written, by kind and operation (created, updated, adopted or deleted).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind", "operation"})

	statusWrites = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "status_writes_total",
		Help:           "Statuses of Websites written.",
		StabilityLevel: metrics.ALPHA,
	})
)

var registerMetricsOnce sync.Once

// RegisterMetrics adds the metrics of the controller to the registry that
// component-base serves.
func RegisterMetrics() {
	registerMetricsOnce.Do(func() {
		legacyregistry.MustRegister(reconciles, reconcileSeconds, stepSeconds, childWrites, statusWrites)
	})
}

func recordReconcile(result problem.Result, took time.Duration) {
	reconciles.WithLabelValues(result.String()).Inc()
	reconcileSeconds.WithLabelValues(result.String()).Observe(took.Seconds())
}

func recordChildWrite(kind fmt.Stringer, done children.Operation) {
	if done != children.Unchanged {
		childWrites.WithLabelValues(kind.String(), string(done)).Inc()
	}
}

var websitesDesc = metrics.NewDesc(subsystem+"_websites",
	"Websites by the status of a condition (True, False or Unknown).",
	[]string{"condition", "status"}, nil, metrics.ALPHA, "")

// websitesCollector counts the Websites in the cache when metrics are scraped: a
// count that is kept along would be wrong whenever an event is missed.
type websitesCollector struct {
	metrics.BaseStableCollector
	websites websitelisters.WebsiteLister
}

// DescribeWithStability describes the one metric there is.
func (*websitesCollector) DescribeWithStability(out chan<- *metrics.Desc) { out <- websitesDesc }

// CollectWithStability counts.
func (c *websitesCollector) CollectWithStability(out chan<- metrics.Metric) {
	websites, err := c.websites.List(labels.Everything())
	if err != nil {
		return // The cache never fails.
	}
	type series struct{ condition, status string }
	counts := map[series]int{}
	for _, website := range websites {
		for _, condition := range website.Status.Conditions {
			counts[series{condition.Type, string(condition.Status)}]++
		}
	}
	for s, count := range counts {
		out <- metrics.NewLazyConstMetric(websitesDesc, metrics.GaugeValue, float64(count), s.condition, s.status)
	}
}
