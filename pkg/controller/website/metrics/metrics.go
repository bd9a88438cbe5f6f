// Package metrics has the metrics of the reconciliation of Websites, on the registry that
// component-base serves.
package metrics

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

const subsystem = "website_controller"

var (
	reconciles = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem,
		Name:      "reconciles_total",
		Help: "Number of reconciliations of Websites, by result: success, name_taken (the name of a child " +
			"belongs to another object), conflict (retried, not reported) or error (retried).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	reconcileSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem:      subsystem,
		Name:           "reconcile_duration_seconds",
		Help:           "Duration of reconciliations of Websites in seconds, by result.",
		Buckets:        metrics.ExponentialBuckets(0.001, 4, 8),
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	stepSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: subsystem,
		Name:      "reconcile_step_duration_seconds",
		Help: "Duration of the steps of reconciliations of Websites in seconds, by step and result (success, " +
			"name_taken, conflict or error).",
		Buckets:        metrics.ExponentialBuckets(0.0001, 5, 8),
		StabilityLevel: metrics.ALPHA,
	}, []string{"step", "result"})

	childWrites = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "child_writes_total",
		Help:           "Number of writes of children, by kind and operation (created, updated, adopted or deleted).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"kind", "operation"})

	statusWrites = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem:      subsystem,
		Name:           "status_writes_total",
		Help:           "Number of writes of the status of Websites.",
		StabilityLevel: metrics.ALPHA,
	})
)

var (
	releases = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem,
		Name:      "releases_total",
		Help: "Number of commits that all ready pods of a Website have come to serve, by cause (Poll, Sync, Spec " +
			"or Rollback).",
		StabilityLevel: metrics.ALPHA,
	}, []string{"cause"})

	releaseSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: subsystem,
		Name:      "release_delay_seconds",
		Help: "Time from the first observation of a request for a commit, or of the commit, until all ready pods " +
			"of a Website serve it, in seconds, by cause.",
		Buckets:        []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600},
		StabilityLevel: metrics.ALPHA,
	}, []string{"cause"})

	syncs = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem,
		Name:      "sync_requests_completed_total",
		Help: "Number of completed requests to the subresource sync, by result (Succeeded or Failed). Requests " +
			"that were joined count as one.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})

	syncSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: subsystem,
		Name:      "sync_request_duration_seconds",
		Help: "Time from the first observation of a request to the subresource sync until it is completed, in " +
			"seconds, by result.",
		Buckets:        []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600},
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})
)

var registerOnce sync.Once

// Register adds the metrics of the controller to the registry that
// component-base serves.
func Register() {
	registerOnce.Do(func() {
		legacyregistry.MustRegister(reconciles, reconcileSeconds, stepSeconds, childWrites, statusWrites, releases,
			releaseSeconds, syncs, syncSeconds)
	})
}

// RecordReconcile counts a reconciliation.
func RecordReconcile(result problem.Result, took time.Duration) {
	reconciles.WithLabelValues(result.String()).Inc()
	reconcileSeconds.WithLabelValues(result.String()).Observe(took.Seconds())
}

// RecordStep observes the duration of a step of a reconciliation.
func RecordStep(step string, result problem.Result, took time.Duration) {
	stepSeconds.WithLabelValues(step, result.String()).Observe(took.Seconds())
}

// RecordStatusWrite counts a write of a status.
func RecordStatusWrite() { statusWrites.Inc() }

// RecordChildWrite counts the write of a child.
func RecordChildWrite(kind, operation string) { childWrites.WithLabelValues(kind, operation).Inc() }

// RecordRelease counts a release that all ready pods serve.
func RecordRelease(release *v1beta1.WebsiteRelease) {
	releases.WithLabelValues(string(release.Cause)).Inc()
	if observed := release.ObservedTime; observed != nil {
		releaseSeconds.WithLabelValues(string(release.Cause)).Observe(release.PublishedTime.Sub(observed.Time).Seconds())
	}
}

// RecordSync counts a completed request to the subresource sync, and observes its duration since
// requested, unless that is zero.
func RecordSync(completed *v1beta1.WebsiteSyncCompletion, requested time.Time) {
	syncs.WithLabelValues(string(completed.Result)).Inc()
	if !requested.IsZero() {
		syncSeconds.WithLabelValues(string(completed.Result)).Observe(max(0, completed.Time.Sub(requested).Seconds()))
	}
}
