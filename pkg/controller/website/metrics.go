package website

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

const subsystem = "website_controller"

// result is how a pass over a Website ended.
type result string

const (
	resultSuccess   result = "success"
	resultNameTaken result = "name_taken"
	resultConflict  result = "conflict"
	resultError     result = "error"
)

var (
	reconciles = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "reconciles_total",
		Help:           "Passes over a Website, by result: success, name_taken (a child's name belongs to something else), conflict (retried silently) or error (retried).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	reconcileSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem:      subsystem,
		Name:           "reconcile_duration_seconds",
		Help:           "How long a pass over a Website took, by result.",
		Buckets:        metrics.ExponentialBuckets(0.001, 4, 8),
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	childWrites = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "child_writes_total",
		Help:           "Children written, by kind and operation (created or updated). It stands still while nothing changes.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind", "operation"})

	statusWrites = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "status_writes_total",
		Help:           "Statuses of Websites written. It stands still while nothing changes.",
		StabilityLevel: metrics.ALPHA,
	})
)

var registerMetricsOnce sync.Once

// RegisterMetrics adds the metrics of the controller to the registry that
// component-base serves.
func RegisterMetrics() {
	registerMetricsOnce.Do(func() {
		legacyregistry.MustRegister(reconciles, reconcileSeconds, childWrites, statusWrites)
	})
}

func recordReconcile(r result, took time.Duration) {
	reconciles.WithLabelValues(string(r)).Inc()
	reconcileSeconds.WithLabelValues(string(r)).Observe(took.Seconds())
}

func recordChildWrite(kind string, done outcome) {
	childWrites.WithLabelValues(kind, string(done)).Inc()
}

func recordStatusWrite() {
	statusWrites.Inc()
}
