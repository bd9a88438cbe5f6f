package website

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/testutil"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/rollout"
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
	limit := rollout.NewLimit(1, func(cache.ObjectName) {})
	for _, name := range []string{"a", "b", "c"} {
		limit.Admit(newWebsite(withName(name)), "template")
	}
	const want = `
# HELP website_controller_limited_rollouts [ALPHA] Number of rollouts that --max-concurrent-rollouts limits, by state (pending or in_progress).
# TYPE website_controller_limited_rollouts gauge
website_controller_limited_rollouts{state="in_progress"} 1
website_controller_limited_rollouts{state="pending"} 2
# HELP website_controller_websites [ALPHA] Number of Websites, by condition and its status (True, False or Unknown).
# TYPE website_controller_websites gauge
website_controller_websites{condition="Ready",status="False"} 1
website_controller_websites{condition="Ready",status="True"} 2
website_controller_websites{condition="Synced",status="Unknown"} 1
`
	if err := testutil.CustomCollectAndCompare(&websitesCollector{websites: f.controller.websites, rollouts: limit}, strings.NewReader(want),
		"website_controller_websites", "website_controller_limited_rollouts"); err != nil {
		t.Error(err)
	}
}
