package metrics

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/rollout"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	website := &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubia", UID: "uid"}}
	for _, tweak := range tweaks {
		tweak(website)
	}
	return website
}

func withName(name string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Name, website.UID = name, types.UID("uid-of-"+name) }
}

func TestWebsitesByCondition(t *testing.T) {
	withCondition := func(kind string, status metav1.ConditionStatus) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) {
			website.Status.Conditions = append(website.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "R", Message: "m"})
		}
	}
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, website := range []*v1beta1.Website{
		newWebsite(withName("a"), withCondition("Ready", metav1.ConditionTrue), withCondition("Synced", metav1.ConditionUnknown)),
		newWebsite(withName("b"), withCondition("Ready", metav1.ConditionTrue)),
		newWebsite(withName("c"), withCondition("Ready", metav1.ConditionFalse)),
		newWebsite(withName("d")),
	} {
		if err := index.Add(website); err != nil {
			t.Fatal(err)
		}
	}
	limit := rollout.NewLimit(1, clock.RealClock{}, func(cache.ObjectName) {})
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
	if err := testutil.CustomCollectAndCompare(&websitesCollector{websites: websitelisters.NewWebsiteLister(index), rollouts: limit}, strings.NewReader(want),
		"website_controller_websites", "website_controller_limited_rollouts"); err != nil {
		t.Error(err)
	}
}
