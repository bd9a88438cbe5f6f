package embeddedetcd

import (
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

var (
	databaseBytes = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace: "website_apiserver",
		Subsystem: "embedded_etcd",
		Name:      "database_bytes",
		Help: "Size of the embedded etcd's database: allocated is the size of its file, in_use the size of the pages " +
			"with data.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"state"})
	alarmActive = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace:      "website_apiserver",
		Subsystem:      "embedded_etcd",
		Name:           "alarm_active",
		Help:           "1 while the embedded etcd has an alarm, else 0, by alarm. Writes fail then.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"alarm"})
	running = metrics.NewGauge(&metrics.GaugeOpts{
		Namespace:      "website_apiserver",
		Subsystem:      "embedded_etcd",
		Name:           "running",
		Help:           "1 while the embedded etcd runs, 0 while the server tries to start it.",
		StabilityLevel: metrics.ALPHA,
	})
)

func init() {
	legacyregistry.MustRegister(databaseBytes, alarmActive, running)
}

func recordSizes(allocated, used int64) {
	databaseBytes.WithLabelValues("allocated").Set(float64(allocated))
	databaseBytes.WithLabelValues("in_use").Set(float64(used))
}

func recordAlarms(alarms []etcdserverpb.AlarmType) {
	for _, alarm := range []etcdserverpb.AlarmType{etcdserverpb.AlarmType_NOSPACE, etcdserverpb.AlarmType_CORRUPT} {
		value := 0.0
		if slices.Contains(alarms, alarm) {
			value = 1
		}
		alarmActive.WithLabelValues(alarm.String()).Set(value)
	}
}

func recordRunning(runs bool) {
	value := 0.0
	if runs {
		value = 1
	}
	running.Set(value)
}
