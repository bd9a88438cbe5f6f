package backup

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	snapshots = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace:      "website_apiserver",
		Subsystem:      "embedded_etcd",
		Name:           "snapshots_total",
		Help:           "Number of scheduled snapshots of the embedded etcd, by result: success or failure.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})
	lastSuccess = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace: "website_apiserver",
		Subsystem: "embedded_etcd",
		Name:      "snapshot_last_success_timestamp_seconds",
		Help: "When the last scheduled snapshot of the embedded etcd was taken, also by an earlier process, in " +
			"seconds since the epoch. 0 if there is none.",
		StabilityLevel: metrics.ALPHA,
	})
	lastFailed = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace:      "website_apiserver",
		Subsystem:      "embedded_etcd",
		Name:           "snapshot_last_failed",
		Help:           "1 if the last attempt to take a scheduled snapshot of the embedded etcd failed.",
		StabilityLevel: metrics.ALPHA,
	})
	lastBytes = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace:      "website_apiserver",
		Subsystem:      "embedded_etcd",
		Name:           "snapshot_last_bytes",
		Help:           "Size of the last scheduled snapshot of the embedded etcd that this process has taken.",
		StabilityLevel: metrics.ALPHA,
	})
)

func init() {
	legacyregistry.MustRegister(snapshots, lastSuccess, lastFailed, lastBytes)
}

func recordSuccess(taken time.Time, bytes int64) {
	snapshots.WithLabelValues("success").Inc()
	lastSuccess.Set(float64(taken.Unix()))
	lastFailed.Set(0)
	lastBytes.Set(float64(bytes))
}

func recordFailure() {
	snapshots.WithLabelValues("failure").Inc()
	lastFailed.Set(1)
}
