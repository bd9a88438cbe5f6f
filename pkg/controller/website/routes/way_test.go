package routes

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// TestChoose: the choice of Gateways or an Ingress. The existing Gateways are the ones of the
// integration tests.
func TestChoose(t *testing.T) {
	gateway := func(namespace string) func(*v1beta1.Website) {
		return func(w *v1beta1.Website) {
			w.Spec.Routing.ParentRefs = []v1beta1.ParentReference{{Namespace: namespace, Name: "public"}}
		}
	}
	byClass := func(w *v1beta1.Website) { w.Spec.Routing.IngressClassName = "own" }
	missing := clusterState{Missing: "no Gateway API"}
	byDefault := Defaults{Gateway: cache.NewObjectName("infra", "public"), IngressClass: "default"}
	tests := map[string]struct {
		tweak           func(*v1beta1.Website)
		defaults        Defaults
		state           clusterState
		class           string
		reason, message string
	}{
		"nothing":       {},
		"default class": {defaults: Defaults{IngressClass: "default"}, class: "default"},
		"default Gateway": {defaults: byDefault, reason: v1beta1.WebsiteReasonGatewayNotFound,
			message: `no Gateway "public" in namespace "infra"`},
		"default Gateway, no Gateway API": {defaults: byDefault, state: missing, class: "default"},
		"own class":                       {tweak: byClass, defaults: byDefault, class: "own"},
		"own Gateway": {tweak: gateway(""), defaults: byDefault,
			reason: v1beta1.WebsiteReasonGatewayNotFound, message: `no Gateway "public" in namespace "default"`},
		"own Gateway, no Gateway API": {tweak: gateway("infra"), defaults: byDefault, state: missing,
			reason: v1beta1.WebsiteReasonGatewayAPIMissing, message: "no Gateway API"},
		"Gateway of an unwatched namespace": {tweak: gateway("other"), reason: v1beta1.WebsiteReasonGatewayNotFound,
			message: `namespace "other" are not watched`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			website := newWebsite()
			if test.tweak != nil {
				test.tweak(website)
			}
			r := &Routes{defaults: test.defaults, router: newRouter(WatchConfig{
				Gateway: gatewayfake.NewClientset(), Kube: fake.NewClientset(), Namespace: "default",
				GatewayNamespaces: []string{"infra"}, Clock: clocktesting.NewFakeClock(testNow),
			}, nil, nil, nil)}
			chosen, isWay, obstacle := r.choose(website, test.state)
			switch {
			case isWay != (test.reason == ""):
				t.Errorf("chosen %+v: %t", chosen, isWay)
			case test.reason == "" && (obstacle != nil || !chosen.isIngress() || chosen.ingressClass != test.class):
				t.Errorf("chosen %+v (%+v), want an Ingress of class %q", chosen, obstacle, test.class)
			case test.reason != "" && (obstacle == nil || obstacle.Reason != test.reason ||
				!strings.Contains(obstacle.Message, test.message)):
				t.Errorf("obstacle %+v, want %s with %q", obstacle, test.reason, test.message)
			}
		})
	}
}

// TestAllowsListenerSets: a Gateway allows none by default.
func TestAllowsListenerSets(t *testing.T) {
	from := func(namespaces gatewayv1.FromNamespaces) *gatewayv1.AllowedListeners {
		return &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &namespaces}}
	}
	tests := map[string]struct {
		allowed *gatewayv1.AllowedListeners
		want    bool
	}{
		"default":       {nil, false},
		"no namespaces": {&gatewayv1.AllowedListeners{}, false},
		"none":          {from(gatewayv1.NamespacesFromNone), false},
		"all":           {from(gatewayv1.NamespacesFromAll), true},
		"same":          {from(gatewayv1.NamespacesFromSame), true},
		"selected":      {from(gatewayv1.NamespacesFromSelector), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := allowsListenerSets(
				&gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{AllowedListeners: test.allowed}},
			); got != test.want {
				t.Errorf("allowed: %v, want %v", got, test.want)
			}
		})
	}
}

// TestTarget: the requests to the hosts of a Website.
func TestTarget(t *testing.T) {
	hosts := []string{"a.example.com", "*.example.com", "b.example.com"}
	gateway := &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge"},
		Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{
			{Name: "http", Port: 8080, Protocol: gatewayv1.HTTPProtocolType},
			{Name: "https", Port: 8443, Protocol: gatewayv1.HTTPSProtocolType},
		}},
		Status: gatewayv1.GatewayStatus{Addresses: []gatewayv1.GatewayStatusAddress{{Value: "192.0.2.1"},
			{Value: "gateway.example.com"}}},
	}
	ingress := &cached.Ingress{Addresses: []networkingv1.IngressLoadBalancerIngress{
		{IP: "192.0.2.2"}, {Hostname: "ingress.example.com"},
	}}
	redirected := func(w *v1beta1.Website) {
		w.Spec.Hosts[0].Role, w.Spec.Hosts[2].Role = v1beta1.HostRoleCanonical, v1beta1.HostRoleRedirect
	}
	atGateway, atIngress := []string{"192.0.2.1", "gateway.example.com"}, []string{"192.0.2.2", "ingress.example.com"}
	plain, secure := routeprobe.Endpoint{Port: 8080}, routeprobe.Endpoint{TLS: true, Port: 8443}
	of := func(redirectedTo string, gateways ...routeprobe.Gateway) routeprobe.Target {
		return routeprobe.Target{Hosts: []routeprobe.Host{
			{Name: "a.example.com", Gateways: gateways}, {Name: "b.example.com", Gateways: gateways, RedirectedTo: redirectedTo},
		}}
	}
	at := func(addresses []string, endpoints ...routeprobe.Endpoint) routeprobe.Gateway {
		return routeprobe.Gateway{Addresses: addresses, Endpoints: endpoints}
	}
	named := func(name string, gateway routeprobe.Gateway) routeprobe.Gateway {
		gateway.Name = name
		return gateway
	}
	internal := gateway.DeepCopy()
	internal.Name, internal.Spec.Listeners = "internal", internal.Spec.Listeners[:1]
	elsewhere := internal.DeepCopy()
	elsewhere.Spec.Listeners[0].Hostname = new(gatewayv1.Hostname("*.example.org"))
	edgeName, internalName := `Gateway "edge" of namespace "infra"`, `Gateway "internal" of namespace "infra"`
	ways := func(gateways ...resources.Gateway) way { return way{gateways: gateways} }
	tests := map[string]struct {
		way    way
		tweaks []func(*v1beta1.Website)
		want   routeprobe.Target
	}{
		"listeners of the Gateway": {way: ways(resources.Gateway{Gateway: gateway}),
			want: of("", at(atGateway, secure, plain))},
		"a listener of the Gateway": {way: ways(resources.Gateway{Gateway: gateway, Sections: []string{"http"}}),
			want: of("", at(atGateway, plain))},
		"own certificate": {way: ways(resources.Gateway{Gateway: gateway, OwnListeners: true}),
			tweaks: []func(*v1beta1.Website){certificate}, want: of("", at(atGateway, secure))},
		"redirected": {way: ways(resources.Gateway{Gateway: gateway}),
			tweaks: []func(*v1beta1.Website){redirected}, want: of("a.example.com", at(atGateway, secure, plain))},
		"Ingress": {want: of("", at(atIngress, routeprobe.Endpoint{Port: 80}))},
		"Ingress with a certificate": {tweaks: []func(*v1beta1.Website){certificate, redirected},
			want: of("", at(atIngress, routeprobe.Endpoint{TLS: true, Port: 443}))},
		"two Gateways": {
			way:  ways(resources.Gateway{Gateway: gateway}, resources.Gateway{Gateway: internal}),
			want: of("", named(edgeName, at(atGateway, secure, plain)), named(internalName, at(atGateway, plain))),
		},
		"a Gateway for other hosts": {
			way:  ways(resources.Gateway{Gateway: gateway}, resources.Gateway{Gateway: elsewhere}),
			want: of("", named(edgeName, at(atGateway, secure, plain))),
		},
		"a Gateway without TLS": {
			way:    ways(resources.Gateway{Gateway: gateway}, resources.Gateway{Gateway: internal}),
			tweaks: []func(*v1beta1.Website){certificate},
			want:   of("", named(edgeName, at(atGateway, secure)), named(internalName, at(atGateway))),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			website := newWebsite(append([]func(*v1beta1.Website){func(w *v1beta1.Website) { w.Spec.Hosts = hostsOf(hosts...) }},
				test.tweaks...)...)
			got := test.way.target(website, hosts, writtenRoutes{ingress: ingress})
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("requests %+v, want %+v", got, test.want)
			}
		})
	}
}

// certificate sets the certificate of a Secret.
func certificate(w *v1beta1.Website) {
	w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeSecret, SecretRef: &v1beta1.SecretReference{Name: "certificate"}}
}

// TestSecured: hosts of a Website with TLS are routed only where a Gateway serves them with TLS.
// Obstacles of some hosts, such as a missing Gateway, do not affect the others.
func TestSecured(t *testing.T) {
	hosts := []string{"a.example.com", "b.example.com"}
	gateway := &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{
		{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
		{Name: "b", Port: 443, Protocol: gatewayv1.HTTPSProtocolType, Hostname: new(gatewayv1.Hostname("b.example.com"))},
	}}}
	own := way{gateways: []resources.Gateway{{Gateway: gateway, OwnListeners: true}}}
	ofGateway := way{gateways: []resources.Gateway{{Gateway: gateway}}}
	withoutTLS := func(*v1beta1.Website) {}
	const noListener, notFound = v1beta1.WebsiteReasonRouteNotAccepted, v1beta1.WebsiteReasonGatewayNotFound
	for name, test := range map[string]struct {
		way     way
		tweak   func(*v1beta1.Website)
		missing *status.Obstacle
		want    []string
		reason  string
	}{
		"without TLS":    {way: ofGateway, tweak: withoutTLS, want: hosts},
		"own listeners":  {way: own, tweak: certificate, want: hosts},
		"Ingress":        {tweak: certificate, want: hosts},
		"of the Gateway": {way: ofGateway, tweak: certificate, want: hosts[1:], reason: noListener},
		"another one is missing": {way: own, tweak: certificate, missing: &status.Obstacle{Reason: notFound}, want: hosts,
			reason: notFound},
		"and one has no listener": {way: ofGateway, tweak: certificate, missing: &status.Obstacle{Reason: notFound},
			want: hosts[1:], reason: notFound},
		"another one, without TLS": {way: ofGateway, tweak: withoutTLS, missing: &status.Obstacle{Reason: notFound},
			want: hosts, reason: notFound},
	} {
		website := newWebsite(test.tweak, func(w *v1beta1.Website) { w.Spec.Hosts = hostsOf(hosts...) })
		got, obstacle := test.way.secured(website, hosts, test.missing)
		if !slices.Equal(got, test.want) || (obstacle == nil) != (test.reason == "") {
			t.Errorf("%s: %q are routed, obstacle %+v, want %q", name, got, obstacle, test.want)
		}
		if obstacle != nil && (obstacle.Reason != test.reason || !slices.Equal(obstacle.Except, test.want)) {
			t.Errorf("%s: obstacle %+v, want %s except for %q", name, obstacle, test.reason, test.want)
		}
	}
}

// TestRedirectsAndCertificates: unsupported settings of the spec are reported.
func TestRedirectsAndCertificates(t *testing.T) {
	all := []string{"a.example.com", "b.example.com"}
	canonical := func(w *v1beta1.Website) {
		w.Spec.Hosts = hostsOf(all...)
		w.Spec.Hosts[0].Role, w.Spec.Hosts[1].Role = v1beta1.HostRoleCanonical, v1beta1.HostRoleRedirect
	}
	edge := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge"}}
	edge.Spec.Listeners = []gatewayv1.Listener{{Name: "https", Port: 443, Protocol: gatewayv1.HTTPSProtocolType}}
	plain := edge.DeepCopy()
	plain.Spec.Listeners[0].Protocol = gatewayv1.HTTPProtocolType
	own := resources.Gateway{Gateway: edge, OwnListeners: true}
	listenerSets := way{gateways: []resources.Gateway{own}}
	without := way{gateways: []resources.Gateway{own, {Gateway: edge}}}
	withoutTLS := way{gateways: []resources.Gateway{own, {Gateway: plain}}}
	byIssuer := func(w *v1beta1.Website) { w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeIssuer} }
	byListener := func(w *v1beta1.Website) { w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeListener} }
	const (
		noCanonical = "the canonical host is not routed to this Website"
		atIngress   = "an Ingress cannot redirect: set spec.routing.parentRefs, or the role Alias"
		ofListeners = `: Gateway "edge" of namespace "infra" serves the hosts with the certificates of its own listeners; ` +
			"set spec.allowedListeners of the Gateway, or spec.tls.mode to Listener"
		secretNotUsed = `Secret "certificate" of spec.tls.secretRef is not used` + ofListeners
		notIssued     = "no certificate is issued" + ofListeners
	)
	for name, test := range map[string]struct {
		way                     way
		tweak                   func(*v1beta1.Website)
		hosts                   []string
		noRedirect, certificate string
	}{
		"both are had":              {way: listenerSets, tweak: certificate, hosts: all},
		"an Ingress":                {tweak: certificate, hosts: all, noRedirect: atIngress},
		"no canonical host":         {way: listenerSets, tweak: certificate, hosts: all[1:], noRedirect: noCanonical},
		"no ListenerSets":           {way: without, tweak: certificate, hosts: all, certificate: secretNotUsed},
		"no ListenerSets, issuer":   {way: without, tweak: byIssuer, hosts: all, certificate: notIssued},
		"no ListenerSets, listener": {way: without, tweak: byListener, hosts: all},
		"no ListenerSets, no TLS":   {way: withoutTLS, tweak: certificate, hosts: all},
	} {
		website := newWebsite(canonical, test.tweak)
		if got := test.way.noRedirect(website, test.hosts); got != test.noRedirect {
			t.Errorf("%s: redirects: %q, want %q", name, got, test.noRedirect)
		}
		if got := test.way.unusedCertificate(website, test.hosts); got != test.certificate {
			t.Errorf("%s: certificate: %q, want %q", name, got, test.certificate)
		}
	}
}
