package status

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
)

const shop, www = "shop.example.com", "www.example.com"

// routed is an Input of which both hosts are found, changed by tweak.
func routed(tweak func(*Input)) *Input {
	return newInput(func(in *Input) {
		in.Website.Spec.Hosts = []string{shop, www}
		in.Website.Status.Commit = commitA
		in.Website.Status.History = []v1beta1.WebsiteRelease{{Commit: commitA}}
		in.Routing = &Routing{Results: map[string]routeprobe.Result{
			shop: {URL: "https://" + shop, Commit: commitA, CertificateExpiration: testNow.Add(time.Hour)},
			www:  {URL: "https://" + www},
		}}
		tweak(in)
	})
}

func TestRouted(t *testing.T) {
	fail := func(result routeprobe.Result) func(*Input) {
		return func(in *Input) { in.Routing.Results[shop] = result }
	}
	tests := map[string]struct {
		tweak  func(*Input)
		status metav1.ConditionStatus
		reason string
		urls   []string
	}{
		"found":             {func(*Input) {}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop, "https://" + www}},
		"DNS elsewhere":     {fail(routeprobe.Result{URL: "https://" + shop, Commit: commitA, DNS: "x"}), metav1.ConditionTrue, v1beta1.WebsiteReasonDNSElsewhere, []string{"https://" + shop, "https://" + www}},
		"unreachable":       {fail(routeprobe.Result{Failure: "x"}), metav1.ConditionFalse, v1beta1.WebsiteReasonHostUnreachable, []string{"https://" + www}},
		"bad certificate":   {fail(routeprobe.Result{Failure: "x", InvalidCertificate: true}), metav1.ConditionFalse, v1beta1.WebsiteReasonCertificateInvalid, []string{"https://" + www}},
		"commit of another": {fail(routeprobe.Result{URL: "https://" + shop, Commit: commitB}), metav1.ConditionFalse, v1beta1.WebsiteReasonHostUnreachable, []string{"https://" + www}},
		"commit not observed yet": {func(in *Input) {
			fail(routeprobe.Result{URL: "https://" + shop, Commit: commitB})(in)
			in.Pods[0].Observed = false
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop, "https://" + www}},
		"commit of unreachable pods": {func(in *Input) {
			fail(routeprobe.Result{URL: "https://" + shop, Commit: commitB})(in)
			in.Pods[0].Reachable = false
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop, "https://" + www}},
		"taken":        {func(in *Input) { in.Routing.Taken = map[string]string{shop: `Website "other"`} }, metav1.ConditionFalse, v1beta1.WebsiteReasonHostTaken, []string{"https://" + www}},
		"not accepted": {func(in *Input) { in.Routing.Obstacle = &Obstacle{Reason: v1beta1.WebsiteReasonRouteNotAccepted} }, metav1.ConditionFalse, v1beta1.WebsiteReasonRouteNotAccepted, []string{"https://" + shop, "https://" + www}},
		"status pending, found": {func(in *Input) {
			in.Routing.Obstacle = &Obstacle{Reason: v1beta1.WebsiteReasonRoutePending, Pending: true}
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop, "https://" + www}},
		"status pending": {func(in *Input) {
			fail(routeprobe.Result{Failure: "x"})(in)
			in.Routing.Obstacle = &Obstacle{Reason: v1beta1.WebsiteReasonRoutePending, Pending: true}
		}, metav1.ConditionUnknown, v1beta1.WebsiteReasonRoutePending, []string{"https://" + www}},
		"not requested": {func(in *Input) { in.Routing.Results = nil }, metav1.ConditionUnknown, v1beta1.WebsiteReasonRoutePending, nil},
		"not requested since a restart": {func(in *Input) {
			in.Routing.Results = nil
			in.Website.Status.Hosts = []v1beta1.WebsiteHostStatus{{Name: shop, Routed: true}, {Name: www, Routed: true}}
			in.Website.Status.URLs = []string{"https://" + shop + ":8443", "https://" + www}
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop + ":8443", "https://" + www}},
		"only wildcards": {func(in *Input) {
			in.Website.Spec.Hosts, in.Routing.Results = []string{"*.example.com"}, nil
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, nil},
		"unknown": {func(in *Input) { in.Routing = &Routing{Unknown: "x"} }, metav1.ConditionUnknown, v1beta1.WebsiteReasonRoutePending, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := Compute(routed(test.tweak))
			condition := meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteRouted)
			if condition == nil || condition.Status != test.status || condition.Reason != test.reason {
				t.Errorf("condition %+v, want %s, %s", condition, test.status, test.reason)
			}
			urls := slices.DeleteFunc(slices.Clone(status.URLs), func(url string) bool { return url[:5] == "http:" })
			if !slices.Equal(urls, test.urls) || len(status.URLs) <= len(test.urls) {
				t.Errorf("urls %v, want %v before those of the Service", status.URLs, test.urls)
			}
			if !meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady) {
				t.Errorf("Ready depends on it: %+v", status.Conditions)
			}
		})
	}
}

// TestHostsRemoved: nothing about hosts stays, once their routes are removed.
func TestHostsRemoved(t *testing.T) {
	remaining := Compute(newInput(func(in *Input) {
		in.RoutesRemain = true
		in.Website.Status.Hosts = []v1beta1.WebsiteHostStatus{{Name: shop, Routed: true}}
	}))
	if len(remaining.Hosts) != 1 || len(remaining.URLs) == 0 || remaining.URLs[0] == "https://"+shop {
		t.Errorf("while routes remain: hosts %+v, urls %v, want the host, and no address of it", remaining.Hosts, remaining.URLs)
	}
	status := Compute(routed(func(in *Input) {
		in.Website.Spec.Hosts, in.Routing = nil, nil
		in.Website.Status.Hosts = []v1beta1.WebsiteHostStatus{{Name: shop, Routed: true}}
		in.Website.Status.Conditions = append(in.Website.Status.Conditions, condition(v1beta1.WebsiteRouted, metav1.ConditionTrue, "x", ""))
	}))
	if meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteRouted) != nil || len(status.Hosts) != 0 {
		t.Errorf("conditions %+v and hosts %+v, want nothing of hosts", status.Conditions, status.Hosts)
	}
}
