package website

import (
	"errors"
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

const subsystem = "website_controller"

// result is how a pass over a Website ended. A larger one outweighs a smaller.
type result int

const (
	resultSuccess result = iota
	resultNameTaken
	resultConflict
	resultError
)

// String returns the result as metrics and traces name it.
func (r result) String() string {
	return [...]string{"success", "name_taken", "conflict", "error"}[r]
}

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

	stepSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem:      subsystem,
		Name:           "reconcile_step_duration_seconds",
		Help:           "How long a step of a pass over a Website took, by step and result (success, name_taken, conflict or error).",
		Buckets:        metrics.ExponentialBuckets(0.0001, 5, 8),
		StabilityLevel: metrics.ALPHA,
	}, []string{"step", "result"})

	childWrites = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "child_writes_total",
		Help:           "Children written, by kind and operation (created, updated, adopted or deleted). It stands still while nothing changes.",
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
		legacyregistry.MustRegister(reconciles, reconcileSeconds, stepSeconds, childWrites, statusWrites)
	})
}

func recordReconcile(r result, took time.Duration) {
	reconciles.WithLabelValues(r.String()).Inc()
	reconcileSeconds.WithLabelValues(r.String()).Observe(took.Seconds())
}

func recordStep(name step, err error, took time.Duration) {
	stepSeconds.WithLabelValues(string(name), resultOf(err).String()).Observe(took.Seconds())
}

// resultOf is the result of one step.
func resultOf(err error) result {
	var taken *nameTakenError
	switch {
	case err == nil || isNamespaceTerminating(err):
		return resultSuccess
	case errors.As(err, &taken):
		return resultNameTaken
	case isConflict(err):
		return resultConflict
	default:
		return resultError
	}
}

func recordChildWrite(kind string, done outcome) {
	childWrites.WithLabelValues(kind, string(done)).Inc()
}

func recordStatusWrite() {
	statusWrites.Inc()
}
