package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

const day = 24 * time.Hour

var testNow = time.Unix(1_700_000_000, 0)

func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	website := &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault,
		Name: "kubia", UID: "uid"}}
	for _, tweak := range tweaks {
		tweak(website)
	}
	return website
}

func withName(name string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Name, website.UID = name, types.UID("uid-of-"+name) }
}

func TestWebsitesByCondition(t *testing.T) {
	withCondition := func(kind string, status metav1.ConditionStatus, reason string) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) {
			website.Status.Conditions = append(website.Status.Conditions,
				metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "m"})
		}
	}
	withCertificate := func(mode v1beta1.TLSMode, rest ...time.Duration) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) {
			if mode != "" {
				website.Spec.TLS = &v1beta1.WebsiteTLS{Mode: mode}
			}
			website.Status.Hosts = []v1beta1.WebsiteHostStatus{{Name: "of no certificate"}}
			for _, rest := range rest {
				expires := metav1.NewTime(testNow.Add(rest))
				website.Status.Hosts = append(website.Status.Hosts,
					hostWith(metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, expires))
			}
			// A host that is no longer requested keeps the expiry of its last certificate.
			website.Status.Hosts = append(website.Status.Hosts,
				hostWith(metav1.ConditionFalse, v1beta1.WebsiteReasonGatewayNotFound, metav1.NewTime(testNow.Add(-time.Hour))))
		}
	}
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, website := range []*v1beta1.Website{
		newWebsite(withName("a"), withCondition("Ready", metav1.ConditionTrue, "Serving"),
			withCondition("Synced", metav1.ConditionUnknown, "Observing"), withCertificate("", time.Hour)),
		newWebsite(withName("b"), withCondition("Ready", metav1.ConditionTrue, "Serving"),
			withCertificate(v1beta1.TLSModeIssuer, 0, -time.Hour, 6*day, 8*day)),
		newWebsite(withName("c"), withCondition("Ready", metav1.ConditionFalse, "NameTaken"),
			withCertificate(v1beta1.TLSModeSecret, 90*day)),
		newWebsite(withName("other clients"), withCondition("Ready", metav1.ConditionFalse, "Tired"),
			withCondition("Loved", metav1.ConditionTrue, "Serving")),
		newWebsite(withName("another one"), withCondition("Ready", metav1.ConditionFalse, "Bored")),
		newWebsite(withName("d")),
	} {
		if err := index.Add(website); err != nil {
			t.Fatal(err)
		}
	}
	rollouts := func() (pending, inProgress int) { return 2, 1 }
	const want = `
# HELP website_controller_host_certificates [ALPHA] Number of hosts of Websites for which a certificate is ` +
		`presented, by spec.tls.mode (Listener without spec.tls) ` +
		`and state (Valid, Expiring within 7 days, or Expired).
# TYPE website_controller_host_certificates gauge
website_controller_host_certificates{state="Expired",tls_mode="Issuer"} 2
website_controller_host_certificates{state="Expired",tls_mode="Listener"} 0
website_controller_host_certificates{state="Expired",tls_mode="Secret"} 0
website_controller_host_certificates{state="Expiring",tls_mode="Issuer"} 1
website_controller_host_certificates{state="Expiring",tls_mode="Listener"} 1
website_controller_host_certificates{state="Expiring",tls_mode="Secret"} 0
website_controller_host_certificates{state="Valid",tls_mode="Issuer"} 1
website_controller_host_certificates{state="Valid",tls_mode="Listener"} 0
website_controller_host_certificates{state="Valid",tls_mode="Secret"} 1
# HELP website_controller_limited_rollouts [ALPHA] Number of rollouts that --max-concurrent-rollouts limits, ` +
		`by state (pending or in_progress).
# TYPE website_controller_limited_rollouts gauge
website_controller_limited_rollouts{state="in_progress"} 1
website_controller_limited_rollouts{state="pending"} 2
# HELP website_controller_websites [ALPHA] Number of Websites, by condition, its status ` +
		`(True, False or Unknown) and its reason.
# TYPE website_controller_websites gauge
website_controller_websites{condition="Ready",reason="NameTaken",status="False"} 1
website_controller_websites{condition="Ready",reason="Other",status="False"} 2
website_controller_websites{condition="Ready",reason="Serving",status="True"} 2
website_controller_websites{condition="Synced",reason="Observing",status="Unknown"} 1
`
	collector := &websitesCollector{
		websites: websitelisters.NewWebsiteLister(index), rollouts: rollouts,
		clock: testingclock.NewFakePassiveClock(testNow),
	}
	if err := testutil.CustomCollectAndCompare(collector, strings.NewReader(want), "website_controller_websites",
		"website_controller_host_certificates", "website_controller_limited_rollouts"); err != nil {
		t.Error(err)
	}
}

func hostWith(routed metav1.ConditionStatus, reason string, expires metav1.Time) v1beta1.WebsiteHostStatus {
	return v1beta1.WebsiteHostStatus{CertificateExpirationTime: &expires, Conditions: []metav1.Condition{
		{Type: v1beta1.WebsiteRouted, Status: routed, Reason: reason},
	}}
}

// TestReasons: each constant of reasons.go is counted as itself.
func TestReasons(t *testing.T) {
	path := filepath.Join("..", "..", "..", "apis", "website", "v1beta1", "reasons.go")
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || boundedReason(reason) != reason {
			t.Errorf("%s is counted as %s (%v)", reason, boundedReason(reason), err)
		}
		constants++
		return true
	})
	if constants < len(reasons) {
		t.Errorf("%d constants, and %d reasons", constants, len(reasons))
	}
}
