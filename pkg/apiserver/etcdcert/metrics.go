package etcdcert

import (
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var expirations = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Namespace:      "website_etcd",
	Name:           "certificate_expiration_timestamp_seconds",
	Help:           "When the certificate in a Secret of the etcd cluster expires, in seconds since 1970.",
	StabilityLevel: metrics.ALPHA,
}, []string{"secret"})

func init() {
	legacyregistry.MustRegister(expirations)
}
