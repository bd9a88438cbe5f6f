package metrics

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// The states of a certificate.
const (
	valid    = "Valid"
	expiring = "Expiring"
	expired  = "Expired"

	// expiringWithin is shorter than the remaining validity at which certificates of 47 days and more
	// are usually renewed: a third of their lifetime.
	expiringWithin = 7 * 24 * time.Hour
)

var websitesDesc = metrics.NewDesc(subsystem+"_websites",
	"Number of Websites, by condition, its status (True, False or Unknown) and its reason.",
	[]string{"condition", "status", "reason"}, nil, metrics.ALPHA, "")

var certificatesDesc = metrics.NewDesc(subsystem+"_host_certificates",
	"Number of hosts of Websites for which a certificate is presented, by spec.tls.mode (Listener without spec.tls) and "+
		"state (Valid, Expiring within 7 days, or Expired).",
	[]string{"tls_mode", "state"}, nil, metrics.ALPHA, "")

var rolloutsDesc = metrics.NewDesc(subsystem+"_limited_rollouts",
	"Number of rollouts that --max-concurrent-rollouts limits, by state (pending or in_progress).",
	[]string{"state"}, nil, metrics.ALPHA, "")

// RegisterWebsites registers the numbers of Websites by condition, of their certificates, and of
// limited rollouts with the registry that component-base serves. A process has these metrics of one
// controller only: a second call returns an error.
func RegisterWebsites(websites websitelisters.WebsiteLister, rollouts func() (pending, inProgress int),
	clock clock.PassiveClock) error {
	collector := &websitesCollector{websites: websites, rollouts: rollouts, clock: clock}
	if err := legacyregistry.CustomRegister(collector); err != nil {
		return fmt.Errorf("registering the metric of Websites by condition: %w", err)
	}
	return nil
}

// websitesCollector counts the Websites in the cache when metrics are scraped, so that the count
// cannot drift.
type websitesCollector struct {
	metrics.BaseStableCollector
	websites websitelisters.WebsiteLister
	rollouts func() (pending, inProgress int)
	clock    clock.PassiveClock
}

// DescribeWithStability describes the metrics.
func (*websitesCollector) DescribeWithStability(out chan<- *metrics.Desc) {
	out <- websitesDesc
	out <- certificatesDesc
	out <- rolloutsDesc
}

// CollectWithStability counts the Websites, certificates and rollouts.
func (c *websitesCollector) CollectWithStability(out chan<- metrics.Metric) {
	websites, err := c.websites.List(labels.Everything())
	if err != nil {
		return // The cache never fails.
	}
	type series struct{ condition, status, reason string }
	counts := map[series]int{}
	for _, website := range websites {
		for _, condition := range website.Status.Conditions {
			if conditionTypes.Has(condition.Type) {
				counts[series{condition.Type, string(condition.Status), boundedReason(condition.Reason)}]++
			}
		}
	}
	for s, count := range counts {
		out <- metrics.NewLazyConstMetric(websitesDesc, metrics.GaugeValue, float64(count), s.condition, s.status, s.reason)
	}
	for c, count := range countCertificates(websites, c.clock.Now()) {
		out <- metrics.NewLazyConstMetric(certificatesDesc, metrics.GaugeValue, float64(count), string(c.mode), c.state)
	}
	pending, inProgress := c.rollouts()
	out <- metrics.NewLazyConstMetric(rolloutsDesc, metrics.GaugeValue, float64(pending), "pending")
	out <- metrics.NewLazyConstMetric(rolloutsDesc, metrics.GaugeValue, float64(inProgress), "in_progress")
}

// certificates are the certificates of hosts with a mode of spec.tls, in a state.
type certificates struct {
	mode  v1beta1.TLSMode
	state string
}

// countCertificates counts the certificates that hosts presented. The result contains zero counts.
func countCertificates(websites []*v1beta1.Website, now time.Time) map[certificates]int {
	counts := map[certificates]int{}
	for _, mode := range []v1beta1.TLSMode{v1beta1.TLSModeListener, v1beta1.TLSModeSecret, v1beta1.TLSModeIssuer} {
		for _, state := range []string{valid, expiring, expired} {
			counts[certificates{mode, state}] = 0
		}
	}
	for _, website := range websites {
		mode := v1beta1.TLSModeListener
		if tls := website.Spec.TLS; tls != nil {
			mode = tls.Mode
		}
		for _, host := range website.Status.Hosts {
			if expires := host.CertificateExpirationTime; expires != nil && isRequested(host) {
				counts[certificates{mode, stateOf(expires.Sub(now))}]++
			}
		}
	}
	return counts
}

// isRequested reports whether the certificate of a host is from the last probe: a host that cannot be
// probed now keeps an earlier one.
func isRequested(host v1beta1.WebsiteHostStatus) bool {
	routed := meta.FindStatusCondition(host.Conditions, v1beta1.HostRouted)
	return routed != nil && (routed.Status == metav1.ConditionTrue ||
		routed.Reason == v1beta1.WebsiteReasonCertificateInvalid)
}

func stateOf(rest time.Duration) string {
	switch {
	case rest <= 0:
		return expired
	case rest < expiringWithin:
		return expiring
	default:
		return valid
	}
}
