package website

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics/testutil"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestWebsitesByCondition(t *testing.T) {
	withCondition := func(kind string, status metav1.ConditionStatus) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) {
			website.Status.Conditions = append(website.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "R", Message: "m"})
		}
	}
	f := newFixture(t,
		newWebsite(withName("a"), withCondition("Ready", metav1.ConditionTrue), withCondition("Synced", metav1.ConditionUnknown)),
		newWebsite(withName("b"), withCondition("Ready", metav1.ConditionTrue)),
		newWebsite(withName("c"), withCondition("Ready", metav1.ConditionFalse)),
		newWebsite(withName("d")))
	const want = `
# HELP website_controller_websites [ALPHA] Websites by the status of a condition (True, False or Unknown).
# TYPE website_controller_websites gauge
website_controller_websites{condition="Ready",status="False"} 1
website_controller_websites{condition="Ready",status="True"} 2
website_controller_websites{condition="Synced",status="Unknown"} 1
`
	if err := testutil.CustomCollectAndCompare(&websitesCollector{websites: f.controller.websites}, strings.NewReader(want), "website_controller_websites"); err != nil {
		t.Error(err)
	}
}
