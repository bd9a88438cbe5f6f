package website

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routing"
)

// TestChoose: what routes the hosts of a Website. Gateways that exist are those of the
// integration tests.
func TestChoose(t *testing.T) {
	gateway := func(namespace string) func(*v1beta1.Website) {
		return func(w *v1beta1.Website) {
			w.Spec.Routing.Gateway = &v1beta1.GatewayReference{Namespace: namespace, Name: "public"}
		}
	}
	byClass := func(w *v1beta1.Website) { w.Spec.Routing.IngressClassName = "own" }
	missing := routing.State{API: routing.API{Missing: "no Gateway API"}}
	byDefault := RoutingDefaults{Gateway: cache.NewObjectName("infra", "public"), IngressClass: "default"}
	tests := map[string]struct {
		tweak           func(*v1beta1.Website)
		defaults        RoutingDefaults
		state           routing.State
		class           string
		reason, message string
	}{
		"nothing":                           {},
		"default class":                     {defaults: RoutingDefaults{IngressClass: "default"}, class: "default"},
		"default Gateway":                   {defaults: byDefault, reason: v1beta1.WebsiteReasonGatewayNotFound, message: `no Gateway "public" in namespace "infra"`},
		"default Gateway, no Gateway API":   {defaults: byDefault, state: missing, class: "default"},
		"own class":                         {tweak: byClass, defaults: byDefault, class: "own"},
		"own Gateway":                       {tweak: gateway(""), defaults: byDefault, reason: v1beta1.WebsiteReasonGatewayNotFound, message: `no Gateway "public" in namespace "default"`},
		"own Gateway, no Gateway API":       {tweak: gateway("infra"), defaults: byDefault, state: missing, reason: v1beta1.WebsiteReasonGatewayAPIMissing, message: "no Gateway API"},
		"Gateway of an unwatched namespace": {tweak: gateway("other"), reason: v1beta1.WebsiteReasonGatewayNotFound, message: `namespace "other" are not watched`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			website := newWebsite()
			website.Namespace = "default"
			if test.tweak != nil {
				test.tweak(website)
			}
			kube := fake.NewClientset()
			r := &routes{defaults: test.defaults, router: routing.New(routing.Config{
				Discovery: kube.Discovery(), Gateway: gatewayfake.NewClientset(), Kube: kube, Namespace: "default", GatewayNamespaces: []string{"infra"}, Clock: clocktesting.NewFakeClock(testNow),
			}, routing.Handlers{})}
			chosen, obstacle := r.choose(website, test.state)
			switch {
			case test.reason == "" && (obstacle != nil || chosen != way{ingressClass: test.class}):
				t.Errorf("chosen %+v (%+v), want an Ingress of class %q", chosen, obstacle, test.class)
			case test.reason != "" && (obstacle == nil || obstacle.Reason != test.reason || !strings.Contains(obstacle.Message, test.message)):
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
			if got := allowsListenerSets(&gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{AllowedListeners: test.allowed}}); got != test.want {
				t.Errorf("allowed: %v, want %v", got, test.want)
			}
		})
	}
}

// TestTarget: what is requested, and where.
func TestTarget(t *testing.T) {
	hosts := []string{"a.example.com", "*.example.com", "b.example.com"}
	gateway := &gatewayv1.Gateway{
		Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{
			{Name: "http", Port: 8080, Protocol: gatewayv1.HTTPProtocolType}, {Name: "https", Port: 8443, Protocol: gatewayv1.HTTPSProtocolType},
		}},
		Status: gatewayv1.GatewayStatus{Addresses: []gatewayv1.GatewayStatusAddress{{Value: "192.0.2.1"}, {Value: "gateway.example.com"}}},
	}
	ingress := &networkingv1.Ingress{Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
		Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.2"}, {Hostname: "ingress.example.com"}},
	}}}
	certificate := func(w *v1beta1.Website) { w.Spec.TLS.SecretRef = &v1beta1.SecretReference{Name: "certificate"} }
	redirected := func(w *v1beta1.Website) { w.Spec.RedirectToCanonical = true }
	gatewayAddresses, ingressAddresses := []string{"192.0.2.1", "gateway.example.com"}, []string{"192.0.2.2", "ingress.example.com"}
	plain, secure := routeprobe.Endpoint{Port: 8080}, routeprobe.Endpoint{TLS: true, Port: 8443}
	of := func(addresses []string, redirectedTo string, endpoints ...routeprobe.Endpoint) routeprobe.Target {
		return routeprobe.Target{Addresses: addresses, Hosts: []routeprobe.Host{
			{Name: "a.example.com", Endpoints: endpoints}, {Name: "b.example.com", Endpoints: endpoints, RedirectedTo: redirectedTo},
		}}
	}
	tests := map[string]struct {
		way    way
		tweaks []func(*v1beta1.Website)
		want   routeprobe.Target
	}{
		"listeners of the Gateway": {way: way{gateway: gateway}, want: of(gatewayAddresses, "", secure, plain)},
		"own certificate":          {way: way{gateway: gateway, ownListeners: true}, tweaks: []func(*v1beta1.Website){certificate}, want: of(gatewayAddresses, "", secure)},
		"redirected":               {way: way{gateway: gateway}, tweaks: []func(*v1beta1.Website){redirected}, want: of(gatewayAddresses, "a.example.com", secure, plain)},
		"Ingress":                  {want: of(ingressAddresses, "", routeprobe.Endpoint{Port: 80})},
		"Ingress with a certificate": {tweaks: []func(*v1beta1.Website){certificate, redirected},
			want: of(ingressAddresses, "", routeprobe.Endpoint{TLS: true, Port: 443})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			website := newWebsite(append(test.tweaks, func(w *v1beta1.Website) { w.Spec.Hosts = hosts })...)
			got := test.way.target(website, hosts, writtenRoutes{ingress: ingress})
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("requests %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestSecured: hosts of a Website with TLS are routed where the Gateway serves them with TLS, or not at all.
func TestSecured(t *testing.T) {
	hosts := []string{"a.example.com", "b.example.com"}
	gateway := &gatewayv1.Gateway{Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{
		{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType},
		{Name: "b", Port: 443, Protocol: gatewayv1.HTTPSProtocolType, Hostname: new(gatewayv1.Hostname("b.example.com"))},
	}}}
	certificate := func(w *v1beta1.Website) { w.Spec.TLS.SecretRef = &v1beta1.SecretReference{Name: "certificate"} }
	for name, test := range map[string]struct {
		way      way
		tweak    func(*v1beta1.Website)
		want     []string
		obstacle bool
	}{
		"without TLS":    {way: way{gateway: gateway}, tweak: func(*v1beta1.Website) {}, want: hosts},
		"own listeners":  {way: way{gateway: gateway, ownListeners: true}, tweak: certificate, want: hosts},
		"Ingress":        {tweak: certificate, want: hosts},
		"of the Gateway": {way: way{gateway: gateway}, tweak: certificate, want: hosts[1:], obstacle: true},
	} {
		got, obstacle := test.way.secured(newWebsite(test.tweak, func(w *v1beta1.Website) { w.Spec.Hosts = hosts }), hosts)
		if !slices.Equal(got, test.want) || (obstacle != nil) != test.obstacle {
			t.Errorf("%s: %q are routed, obstacle %+v, want %q", name, got, obstacle, test.want)
		}
	}
}
