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

func init() {
	legacyregistry.MustRegister(closedMetric)
}

func recordState(closed *Closed) {
	closedMetric.Reset()
	if closed != nil {
		closedMetric.WithLabelValues(closed.Reason).Set(1)
	}
}
