package routes

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// TestNamesWithHosts: routes of hosts that a Website has given up are not kept for its remaining
// hosts.
func TestNamesWithHosts(t *testing.T) {
	hostname := gatewayv1.Hostname("a.example.com")
	meta := metav1.ObjectMeta{Name: "of-a"}
	ingress := cached.OfIngress(&networkingv1.Ingress{ObjectMeta: meta,
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "a.example.com"}}}})
	route := cached.OfHTTPRoute(&gatewayv1.HTTPRoute{ObjectMeta: meta,
		Spec: gatewayv1.HTTPRouteSpec{Hostnames: []gatewayv1.Hostname{hostname}}})
	set := cached.OfListenerSet(&gatewayv1.ListenerSet{ObjectMeta: meta,
		Spec: gatewayv1.ListenerSetSpec{Listeners: []gatewayv1.ListenerEntry{{Hostname: &hostname}}}})
	for host, want := range map[string][]string{"a.example.com": {"of-a"}, "b.example.com": nil,
		"a.example.com, which another Website has got": nil} {
		host, _, isTaken := strings.Cut(host, ",")
		kept := keptHosts{obstructed: []string{host}}
		if isTaken {
			kept.taken = map[string]string{host: "another Website"}
		}
		for kind, got := range map[string][]string{
			"Ingress":     kept.ingresses([]*cached.Ingress{ingress}),
			"HTTPRoute":   kept.httpRoutes([]*cached.HTTPRoute{route}),
			"ListenerSet": kept.listenerSets([]*cached.ListenerSet{set}),
		} {
			if !slices.Equal(got, want) {
				t.Errorf("%s: kept for %s are %q, want %q", kind, host, got, want)
			}
		}
	}
}

// TestIsPlain: routes that may serve pages without TLS.
func TestIsPlain(t *testing.T) {
	edge := &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{
		{Name: "http", Protocol: gatewayv1.HTTPProtocolType}, {Name: "https", Protocol: gatewayv1.HTTPSProtocolType},
	}}}
	// The route is in the namespace "site". Gateways in "site" and "infra" are watched.
	gatewayOf := func(namespace, name string) (*gatewayv1.Gateway, bool) {
		if namespace == "infra" && name == "edge" {
			return edge, true
		}
		return nil, namespace == "infra" || namespace == "site"
	}
	gateway := func(namespace, section string) gatewayv1.ParentReference {
		parent := gatewayv1.ParentReference{Name: "edge"}
		if namespace != "" {
			parent.Namespace = ptr.To(gatewayv1.Namespace(namespace))
		}
		if section != "" {
			parent.SectionName = ptr.To(gatewayv1.SectionName(section))
		}
		return parent
	}
	for name, test := range map[string]struct {
		route   string
		parents []gatewayv1.ParentReference
		want    bool
	}{
		"a whole Gateway":     {parents: []gatewayv1.ParentReference{gateway("infra", "")}, want: true},
		"a listener with TLS": {parents: []gatewayv1.ParentReference{gateway("infra", "https")}},
		"one with TLS and one without": {parents: []gatewayv1.ParentReference{gateway("infra", "https"),
			gateway("infra", "http")}, want: true},
		"a listener that is gone":       {parents: []gatewayv1.ParentReference{gateway("infra", "gone")}, want: true},
		"a Gateway that is gone":        {parents: []gatewayv1.ParentReference{gateway("", "")}},
		"a Gateway that is not watched": {parents: []gatewayv1.ParentReference{gateway("other", "https")}, want: true},
		"a ListenerSet": {
			parents: []gatewayv1.ParentReference{{Kind: ptr.To[gatewayv1.Kind]("ListenerSet"), Name: "kubia-website"}},
		},
		"a redirect to https": {route: "kubia-website.https",
			parents: []gatewayv1.ParentReference{gateway("infra", "http")}},
		"a redirect to another port": {route: "kubia-website.1.https-8443",
			parents: []gatewayv1.ParentReference{gateway("infra", "http")}},
		"a redirect of the host, as HTTP": {route: "kubia-website.canonical",
			parents: []gatewayv1.ParentReference{gateway("infra", "")}, want: true},
	} {
		route := &gatewayv1.HTTPRoute{
			ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: cmp.Or(test.route, "kubia-website")},
			Spec:       gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: test.parents}},
		}
		if got := isPlain(gatewayOf)(cached.OfHTTPRoute(route)); got != test.want {
			t.Errorf("%s: plain is %t, want %t", name, got, test.want)
		}
	}
}
