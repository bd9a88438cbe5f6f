package status

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
)

const shop, www = "shop.example.com", "www.example.com"

// routed returns an Input with two routed hosts, changed by tweak.
func routed(tweak func(*Input)) *Input {
	return newInput(func(in *Input) {
		in.Website.Spec.Hosts = hostsOf(www, shop)
		in.Website.Spec.Hosts[1].Role = v1beta1.HostRoleCanonical
		in.Website.Spec.Hosts[0].Role = v1beta1.HostRoleRedirect
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
		"found": {func(*Input) {}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted,
			[]string{"https://" + shop, "https://" + www}},
		"DNS elsewhere": {fail(routeprobe.Result{URL: "https://" + shop, Commit: commitA, DNS: "x"}),
			metav1.ConditionTrue, v1beta1.WebsiteReasonDNSElsewhere, []string{"https://" + shop, "https://" + www}},
		"unreachable": {fail(routeprobe.Result{Failure: "x"}), metav1.ConditionFalse,
			v1beta1.WebsiteReasonHostUnreachable, []string{"https://" + www}},
		"bad certificate": {fail(routeprobe.Result{Failure: "x", InvalidCertificate: true}), metav1.ConditionFalse,
			v1beta1.WebsiteReasonCertificateInvalid, []string{"https://" + www}},
		"commit of another": {fail(routeprobe.Result{URL: "https://" + shop, Commit: commitB}), metav1.ConditionFalse,
			v1beta1.WebsiteReasonHostUnreachable, []string{"https://" + www}},
		"commit not observed yet": {func(in *Input) {
			fail(routeprobe.Result{URL: "https://" + shop, Commit: commitB})(in)
			in.Pods[0].Observed = false
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop, "https://" + www}},
		"commit of unreachable pods": {func(in *Input) {
			fail(routeprobe.Result{URL: "https://" + shop, Commit: commitB})(in)
			in.Pods[0].Reachable = false
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop, "https://" + www}},
		"taken": {func(in *Input) { in.Routing.Taken = map[string]string{shop: `Website "other"`} },
			metav1.ConditionFalse, v1beta1.WebsiteReasonHostTaken, []string{"https://" + www}},
		"not accepted": {func(in *Input) { in.Routing.Obstacle = &Obstacle{Reason: v1beta1.WebsiteReasonRouteNotAccepted} },
			metav1.ConditionFalse, v1beta1.WebsiteReasonRouteNotAccepted, []string{"https://" + shop, "https://" + www}},
		"status pending, found": {func(in *Input) {
			in.Routing.Obstacle = &Obstacle{Reason: v1beta1.WebsiteReasonRoutePending, Pending: true}
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop, "https://" + www}},
		"status pending": {func(in *Input) {
			fail(routeprobe.Result{Failure: "x"})(in)
			in.Routing.Obstacle = &Obstacle{Reason: v1beta1.WebsiteReasonRoutePending, Pending: true}
		}, metav1.ConditionUnknown, v1beta1.WebsiteReasonRoutePending, []string{"https://" + www}},
		"not requested": {func(in *Input) { in.Routing.Results = nil }, metav1.ConditionUnknown,
			v1beta1.WebsiteReasonRoutePending, nil},
		"not requested since a restart": {func(in *Input) {
			in.Routing.Results = nil
			in.Website.Status.Hosts = []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionTrue, "x"),
				hostWas(www, metav1.ConditionTrue, "x")}
			in.Website.Status.URLs = []string{"https://" + shop + ":8443", "https://" + www}
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, []string{"https://" + shop + ":8443", "https://" + www}},
		"only wildcards": {func(in *Input) {
			in.Website.Spec.Hosts, in.Routing.Results = hostsOf("*.example.com"), nil
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonHostsRouted, nil},
		"an Ingress, which redirects nothing": {func(in *Input) {
			in.Routing.NoRedirect = "an Ingress cannot redirect"
		}, metav1.ConditionFalse, v1beta1.WebsiteReasonRedirectUnavailable, []string{"https://" + shop, "https://" + www}},
		"another certificate": {func(in *Input) {
			in.Routing.UnusedCertificate = `Secret "x" of spec.tls.secretRef is not used`
		}, metav1.ConditionTrue, v1beta1.WebsiteReasonCertificateNotUsed, []string{"https://" + shop, "https://" + www}},
		"unknown": {func(in *Input) { in.Routing = &Routing{Unknown: "x"} }, metav1.ConditionUnknown,
			v1beta1.WebsiteReasonRoutePending, nil},
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
				t.Errorf("urls %v, want %v before the URLs of the Service", status.URLs, test.urls)
			}
			if ready := meta.IsStatusConditionTrue(status.Conditions,
				v1beta1.WebsiteReady); ready == (test.reason == v1beta1.WebsiteReasonHostTaken) {
				t.Errorf("Ready is %t: %+v", ready, status.Conditions)
			}
		})
	}
}

// TestHostsRemoved: no status of hosts stays, once their routes are removed.
func TestHostsRemoved(t *testing.T) {
	remaining := Compute(newInput(func(in *Input) {
		in.RoutesRemain = true
		in.Website.Status.Hosts = []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionTrue, "x")}
	}))
	if len(remaining.Hosts) != 1 || len(remaining.URLs) == 0 || remaining.URLs[0] == "https://"+shop {
		t.Errorf("while routes remain: hosts %+v, urls %v, want the host, and no address of it",
			remaining.Hosts, remaining.URLs)
	}
	status := Compute(routed(func(in *Input) {
		in.Website.Spec.Hosts, in.Routing = nil, nil
		in.Website.Status.Hosts = []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionTrue, "x")}
		in.Website.Status.Conditions = append(in.Website.Status.Conditions,
			condition(v1beta1.WebsiteRouted, metav1.ConditionTrue, "x", ""))
	}))
	if meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteRouted) != nil || len(status.Hosts) != 0 {
		t.Errorf("conditions %+v and hosts %+v, want nothing of hosts", status.Conditions, status.Hosts)
	}
}

// hostWas returns a previously reported status of a host.
func hostWas(name string, status metav1.ConditionStatus, reason string) v1beta1.WebsiteHostStatus {
	before := condition(v1beta1.HostRouted, status, reason, "before")
	before.LastTransitionTime = metav1.NewTime(testNow)
	return v1beta1.WebsiteHostStatus{Name: name, Conditions: []metav1.Condition{before}}
}

// TestHostConditions: the status of a single host.
func TestHostConditions(t *testing.T) {
	noGateway := &Obstacle{Reason: v1beta1.WebsiteReasonGatewayNotFound, Message: "no Gateway"}
	pending := &Obstacle{Reason: v1beta1.WebsiteReasonRoutePending, Message: "no condition yet", Pending: true}
	ofOthers := &Obstacle{
		Reason: v1beta1.WebsiteReasonRouteNotAccepted, Message: "no HTTPS listener", Except: []string{shop, "*.example.com"},
	}
	ofThis := &Obstacle{
		Reason: v1beta1.WebsiteReasonRouteNotAccepted, Message: "no HTTPS listener", Except: []string{www},
	}
	found := map[string]routeprobe.Result{shop: {URL: "https://" + shop, Commit: commitA}}
	tests := map[string]struct {
		routing Routing
		before  []v1beta1.WebsiteHostStatus
		host    v1beta1.WebsiteHost
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"found": {routing: Routing{Results: found}, status: metav1.ConditionTrue,
			reason: v1beta1.WebsiteReasonHostRouted, message: "requests for the host reach the site"},
		"found, status pending": {routing: Routing{Results: found, Obstacle: pending}, status: metav1.ConditionTrue,
			reason: v1beta1.WebsiteReasonHostRouted, message: "requests for the host reach the site"},
		"taken": {routing: Routing{Taken: map[string]string{shop: `Website "other"`}},
			status: metav1.ConditionFalse, reason: v1beta1.WebsiteReasonHostTaken, message: `Website "other" has the host`},
		"unreachable, status pending": {routing: Routing{Results: map[string]routeprobe.Result{shop: {Failure: "refused"}},
			Obstacle: pending},
			status: metav1.ConditionUnknown, reason: v1beta1.WebsiteReasonRoutePending, message: "no condition yet"},
		"unreachable": {routing: Routing{Results: map[string]routeprobe.Result{shop: {Failure: "refused"}}},
			status: metav1.ConditionFalse, reason: v1beta1.WebsiteReasonHostUnreachable, message: "refused"},
		"not redirected": {routing: Routing{Results: found, NoRedirect: "an Ingress cannot redirect"},
			host:   v1beta1.WebsiteHost{Role: v1beta1.HostRoleRedirect},
			status: metav1.ConditionFalse, reason: v1beta1.WebsiteReasonRedirectUnavailable,
			message: shop + " serves the site: an Ingress cannot redirect"},
		"an alias at an Ingress": {routing: Routing{Results: found, NoRedirect: "an Ingress cannot redirect"},
			status: metav1.ConditionTrue, reason: v1beta1.WebsiteReasonHostRouted,
			message: "requests for the host reach the site"},
		"another certificate": {routing: Routing{Results: found, UnusedCertificate: "not used"},
			status: metav1.ConditionTrue, reason: v1beta1.WebsiteReasonCertificateNotUsed, message: "not used"},
		"no Gateway": {routing: Routing{Obstacle: noGateway}, status: metav1.ConditionFalse,
			reason: v1beta1.WebsiteReasonGatewayNotFound, message: "no Gateway"},
		"not requested": {status: metav1.ConditionUnknown, reason: v1beta1.WebsiteReasonRoutePending,
			message: "no request for " + shop + " has been made yet"},
		"status pending": {routing: Routing{Obstacle: pending}, status: metav1.ConditionUnknown,
			reason: v1beta1.WebsiteReasonRoutePending, message: "no condition yet"},
		"a wildcard": {host: v1beta1.WebsiteHost{Name: "*.example.com"}, status: metav1.ConditionUnknown,
			reason: v1beta1.WebsiteReasonHostNotRequested, message: "no request is made for a host with a wildcard"},
		"nothing known": {routing: Routing{Unknown: "waiting"}, status: metav1.ConditionUnknown,
			reason: v1beta1.WebsiteReasonRoutePending, message: "waiting"},
		"nothing known any more": {routing: Routing{Unknown: "waiting"},
			before: []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionFalse, "HostUnreachable")},
			status: metav1.ConditionFalse, reason: v1beta1.WebsiteReasonHostUnreachable, message: "before"},
		"found before a restart": {before: []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionTrue, "HostRouted")},
			status: metav1.ConditionTrue, reason: v1beta1.WebsiteReasonHostRouted, message: "before"},
		"unreachable before a restart": {before: []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionFalse,
			"HostUnreachable")},
			status: metav1.ConditionFalse, reason: v1beta1.WebsiteReasonHostUnreachable, message: "before"},
		"the Gateway is there now": {routing: Routing{Obstacle: pending},
			before: []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionFalse, "GatewayNotFound")},
			status: metav1.ConditionUnknown, reason: v1beta1.WebsiteReasonRoutePending, message: "no condition yet"},
		"another host has no listener": {
			routing: Routing{Obstacle: ofOthers},
			status:  metav1.ConditionUnknown, reason: v1beta1.WebsiteReasonRoutePending,
			message: "no request for " + shop + " has been made yet",
		},
		"another host has no listener, found before a restart": {
			routing: Routing{Obstacle: ofOthers},
			before:  []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionTrue, "HostRouted")},
			status:  metav1.ConditionTrue, reason: v1beta1.WebsiteReasonHostRouted, message: "before",
		},
		"another host has no listener, a wildcard": {
			routing: Routing{Obstacle: ofOthers}, host: v1beta1.WebsiteHost{Name: "*.example.com"},
			before: []v1beta1.WebsiteHostStatus{hostWas("*.example.com", metav1.ConditionFalse, "RouteNotAccepted")},
			status: metav1.ConditionUnknown, reason: v1beta1.WebsiteReasonHostNotRequested,
			message: "no request is made for a host with a wildcard",
		},
		"this host has no listener": {
			routing: Routing{Obstacle: ofThis},
			before:  []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionTrue, "HostRouted")},
			status:  metav1.ConditionFalse, reason: v1beta1.WebsiteReasonRouteNotAccepted, message: "no HTTPS listener",
		},
		"given up by another one": {before: []v1beta1.WebsiteHostStatus{hostWas(shop, metav1.ConditionFalse, "HostTaken")},
			status: metav1.ConditionUnknown, reason: v1beta1.WebsiteReasonRoutePending,
			message: "no request for " + shop + " has been made yet"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.host.Name = cmp.Or(test.host.Name, shop)
			status := Compute(newInput(func(in *Input) {
				in.Website.Spec.Hosts = []v1beta1.WebsiteHost{test.host}
				in.Website.Status.Hosts, in.Routing = test.before, &test.routing
			}))
			if len(status.Hosts) != 1 || len(status.Hosts[0].Conditions) != 1 {
				t.Fatalf("hosts %+v, want one with one condition", status.Hosts)
			}
			got := status.Hosts[0].Conditions[0]
			if got.Type != v1beta1.HostRouted || got.Status != test.status || got.Reason != test.reason ||
				got.Message != test.message || got.LastTransitionTime.IsZero() {
				t.Errorf("condition %+v, want %s, %s, %q", got, test.status, test.reason, test.message)
			}
		})
	}
}

// TestAddressesOfManyHosts: each host has a URL, in any order of the list.
func TestAddressesOfManyHosts(t *testing.T) {
	var first []string
	for _, reverse := range []bool{false, true} {
		status := Compute(routed(func(in *Input) {
			in.Website.Spec.Hosts = nil
			for i := range 64 {
				name := fmt.Sprintf("h%02d.example.com", i)
				in.Website.Spec.Hosts = append(in.Website.Spec.Hosts, v1beta1.WebsiteHost{Name: name, Role: v1beta1.HostRoleAlias})
				in.Routing.Results[name] = routeprobe.Result{URL: "https://" + name, Commit: commitA}
			}
			in.Website.Spec.Hosts[40].Role = v1beta1.HostRoleCanonical
			if reverse {
				slices.Reverse(in.Website.Spec.Hosts)
			}
		}))
		if len(status.URLs) <= 64 || status.URLs[0] != "https://h40.example.com" ||
			status.URLs[1] != "https://h00.example.com" || status.URLs[63] != "https://h63.example.com" {
			t.Errorf("urls %v, want the canonical host, the 63 others by name, and the Service", status.URLs)
		}
		if reverse && !slices.Equal(status.URLs, first) {
			t.Errorf("in another order the urls are %v, want %v", status.URLs, first)
		}
		first = status.URLs
	}
}

// hostsOf returns hosts with the role Alias.
func hostsOf(names ...string) []v1beta1.WebsiteHost {
	var hosts []v1beta1.WebsiteHost
	for _, name := range names {
		hosts = append(hosts, v1beta1.WebsiteHost{Name: name, Role: v1beta1.HostRoleAlias})
	}
	return hosts
}
