package website

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

var websitesDesc = metrics.NewDesc(subsystem+"_websites",
	"Websites by the status of a condition (True, False or Unknown).",
	[]string{"condition", "status"}, nil, metrics.ALPHA, "")

// websitesCollector counts the Websites in the cache when somebody asks: a count
// that is kept along would be wrong whenever an event is missed.
type websitesCollector struct {
	metrics.BaseStableCollector
	sites websitelisters.WebsiteLister
}

// RegisterWebsitesMetric adds the number of the Websites of a controller, by
// condition, to the registry that component-base serves. A process counts those
// of one controller only: a second call returns an error.
func (c *Controller) RegisterWebsitesMetric() error {
	if err := legacyregistry.CustomRegister(&websitesCollector{sites: c.siteLister}); err != nil {
		return fmt.Errorf("registering the metric of Websites by condition: %w", err)
	}
	return nil
}

// DescribeWithStability describes the one metric there is.
func (*websitesCollector) DescribeWithStability(out chan<- *metrics.Desc) { out <- websitesDesc }

// CollectWithStability counts.
func (c *websitesCollector) CollectWithStability(out chan<- metrics.Metric) {
	sites, err := c.sites.List(labels.Everything())
	if err != nil {
		return // The cache never fails.
	}
	type series struct{ condition, status string }
	counts := map[series]int{}
	for _, site := range sites {
		for _, condition := range site.Status.Conditions {
			counts[series{condition.Type, string(condition.Status)}]++
		}
	}
	for s, count := range counts {
		out <- metrics.NewLazyConstMetric(websitesDesc, metrics.GaugeValue, float64(count), s.condition, s.status)
	}
}
