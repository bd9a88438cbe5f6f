package store

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// closedMetric has a series for each reason, so that one that is absent is not taken for a server that is open.
var closedMetric = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Namespace: "website_apiserver",
	Name:      "store_closed",
	Help: "1 while requests for Websites are answered with 503 because the store is not known to be the one " +
		"that the cluster was served from, by reason; 0 otherwise.",
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
	for reason := range findings {
		value := 0.0
		if closed != nil && closed.Reason == reason {
			value = 1
		}
		closedMetric.WithLabelValues(reason).Set(value)
	}
}
