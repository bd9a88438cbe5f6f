package store

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// closedMetric has one series, by the reason, while the server is closed, and none
// while it is open.
var closedMetric = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Namespace:      "website_apiserver",
	Name:           "store_closed",
	Help:           "1 while requests for Websites are answered with 503 because the store is not known to be the one that the cluster was served from, by reason.",
	StabilityLevel: metrics.ALPHA,
}, []string{"reason"})

var reachableMetric = metrics.NewGauge(&metrics.GaugeOpts{
	Namespace:      "website_apiserver",
	Name:           "store_reachable",
	Help:           "1 while the store answers, 0 while requests that need it are answered with 503.",
	StabilityLevel: metrics.ALPHA,
})

func init() {
	legacyregistry.MustRegister(closedMetric, reachableMetric)
}

func recordReachable(reachable bool) {
	value := 0.0
	if reachable {
		value = 1
	}
	reachableMetric.Set(value)
}

func recordState(closed *Closed) {
	closedMetric.Reset()
	if closed != nil {
		closedMetric.WithLabelValues(closed.Reason).Set(1)
	}
}
