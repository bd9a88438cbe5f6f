package bodies

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	largeWrites = metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace:      "website_apiserver",
		Name:           "large_writes_total",
		Help:           "Writes of large Websites, by result: admitted, or rejected with 429.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"result"})
)

func init() {
	legacyregistry.MustRegister(largeWrites)
	// A rate needs the series before the first write is rejected.
	largeWrites.WithLabelValues("admitted").Add(0)
	largeWrites.WithLabelValues("rejected").Add(0)
}

func admitted() { largeWrites.WithLabelValues("admitted").Inc() }
func rejected() { largeWrites.WithLabelValues("rejected").Inc() }
