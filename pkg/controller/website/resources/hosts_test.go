package resources

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func newGateway(listeners ...gatewayv1.Listener) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "infra"},
		Spec: gatewayv1.GatewaySpec{Listeners: listeners}}
}

func listener(name string, protocol gatewayv1.ProtocolType, port int32,
	hostname gatewayv1.Hostname) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Protocol: protocol, Port: gatewayv1.PortNumber(port)}
	if hostname != "" {
		l.Hostname = &hostname
	}
	return l
}

func numbered(n int) []string {
	var hosts []string
	for i := range n {
		hosts = append(hosts, fmt.Sprintf("h%d.example.com", i))
	}
	return hosts
}

// routeLines describes HTTPRoutes: "name: hosts at parents -> what".
func routeLines(t *testing.T, r *HostRoutes) []string {
	t.Helper()
	var lines []string
	for _, configuration := range r.HTTPRoutes() {
		route := typed[gatewayv1.HTTPRoute](t, configuration)
		var hosts, parents []string
		for _, host := range route.Spec.Hostnames {
			hosts = append(hosts, string(host))
		}
		for _, parent := range route.Spec.ParentRefs {
			name := string(parent.Name)
			for i := range r.Gateways {
				// The names of ListenerSets contain a hash of the Gateway.
				if gateway := &r.Gateways[i]; name == listenerSetName(r.Website, gateway, 0) {
					name = gateway.Name
				}
			}
			line := fmt.Sprintf("%s/%s", *parent.Kind, name)
			if parent.SectionName != nil {
				line += "/" + string(*parent.SectionName)
			}
			parents = append(parents, line)
		}
		what := ""
		for _, backend := range route.Spec.Rules[0].BackendRefs {
			what = fmt.Sprintf("%s:%d", backend.Name, *backend.Port)
		}
		for _, filter := range route.Spec.Rules[0].Filters {
			redirect := filter.RequestRedirect
			what = fmt.Sprint("redirect ", *redirect.StatusCode)
			if redirect.Scheme != nil {
				what += " " + *redirect.Scheme
			}
			if redirect.Hostname != nil {
				what += " " + string(*redirect.Hostname)
			}
			if redirect.Port != nil {
				what += fmt.Sprint(" :", *redirect.Port)
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %s at %s -> %s", route.Name, strings.Join(hosts, ","),
			strings.Join(parents, ","), what))
	}
	return lines
}

func withHosts(hosts ...string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Spec.Hosts = hostsOf(hosts...) }
}

func withCertificate(website *v1beta1.Website) {
	website.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeSecret,
		SecretRef: &v1beta1.SecretReference{Name: "certificate"}}
}

func withTLSOfListeners(website *v1beta1.Website) {
	website.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeListener}
}

func withoutRedirect(website *v1beta1.Website) { website.Spec.TLS.Redirect = new(false) }

func withIssuer(group, kind string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) {
		w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: v1beta1.TLSModeIssuer,
			IssuerRef: &v1beta1.IssuerReference{Group: group, Kind: kind, Name: "letsencrypt"}}
	}
}

// redirectedTo makes a host the canonical one of all others.
func redirectedTo(canonical string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) {
		for i := range website.Spec.Hosts {
			host := &website.Spec.Hosts[i]
			if host.Role = v1beta1.HostRoleRedirect; host.Name == canonical {
				host.Role = v1beta1.HostRoleCanonical
			}
		}
	}
}

func TestHTTPRoutes(t *testing.T) {
	plain := listener("http", gatewayv1.HTTPProtocolType, 80, "")
	secure := listener("https", gatewayv1.HTTPSProtocolType, 443, "")
	internal := newGateway(listener("web", gatewayv1.HTTPSProtocolType, 8443, ""), plain)
	internal.Name = "internal"
	tests := map[string]struct {
		website *v1beta1.Website
		// held are the hosts that the Website owns; nil for all.
		held    []string
		gateway *gatewayv1.Gateway
		own     bool
		// more are further Gateways, sections the listeners that the spec names.
		more     []Gateway
		sections []string
		want     []string
	}{
		"the Gateway's listeners": {
			website: newWebsite(withHosts("a.example.com", "b.example.com")), gateway: newGateway(plain, secure),
			want: []string{"kubia-website: a.example.com,b.example.com at Gateway/edge -> kubia-website-npsvc:80"},
		},
		"two listeners of the Gateway": {
			website: newWebsite(withHosts("a.example.com")), gateway: newGateway(plain, secure),
			sections: []string{"https", "http"},
			want:     []string{"kubia-website: a.example.com at Gateway/edge/https,Gateway/edge/http -> kubia-website-npsvc:80"},
		},
		"two Gateways": {
			website: newWebsite(withHosts("a.example.com")), gateway: newGateway(plain, secure),
			more: []Gateway{{Gateway: internal}},
			want: []string{"kubia-website: a.example.com at Gateway/edge,Gateway/internal -> kubia-website-npsvc:80"},
		},
		"own listeners": {
			website: newWebsite(withHosts("a.example.com", "*.example.com"), withCertificate), gateway: newGateway(), own: true,
			want: []string{
				"kubia-website: *.example.com,a.example.com at " +
					"ListenerSet/edge/https-any.example.com,ListenerSet/edge/https.a.example.com -> kubia-website-npsvc:80",
				"kubia-website.https: *.example.com,a.example.com at " +
					"ListenerSet/edge/http-any.example.com,ListenerSet/edge/http.a.example.com -> redirect 301 https",
			},
		},
		"own listeners, not redirected to https": {
			website: newWebsite(withHosts("a.example.com"), withCertificate, withoutRedirect), gateway: newGateway(), own: true,
			want: []string{"kubia-website: a.example.com at " +
				"ListenerSet/edge/https.a.example.com,ListenerSet/edge/http.a.example.com -> kubia-website-npsvc:80"},
		},
		"own listeners, unusual port, redirected": {
			website: newWebsite(withHosts("a.example.com", "b.example.com"), withCertificate, redirectedTo("a.example.com")),
			gateway: newGateway(listener("https", gatewayv1.HTTPSProtocolType, 8443, "")), own: true,
			want: []string{
				"kubia-website: a.example.com at ListenerSet/edge/https.a.example.com -> kubia-website-npsvc:80",
				"kubia-website.https: a.example.com at ListenerSet/edge/http.a.example.com -> redirect 301 https :8443",
				"kubia-website.canonical: b.example.com at " +
					"ListenerSet/edge/https.b.example.com,ListenerSet/edge/http.b.example.com -> redirect 301 https " +
					"a.example.com :8443",
			},
		},
		"an alias beside a redirected host": {
			website: newWebsite(withHosts("a.example.com", "b.example.com", "c.example.com"), redirectedTo("c.example.com"),
				func(w *v1beta1.Website) {
					w.Spec.Hosts[0].Role = v1beta1.HostRoleAlias
				}), gateway: newGateway(plain),
			want: []string{
				"kubia-website: a.example.com,c.example.com at Gateway/edge -> kubia-website-npsvc:80",
				"kubia-website.canonical: b.example.com at Gateway/edge -> redirect 301 c.example.com",
			},
		},
		"own listeners at two Gateways": {
			website: newWebsite(withHosts("a.example.com", "b.example.com"), withCertificate, redirectedTo("a.example.com")),
			gateway: newGateway(plain, secure), own: true, more: []Gateway{{Gateway: internal, OwnListeners: true}},
			want: []string{
				"kubia-website: a.example.com at ListenerSet/edge/https.a.example.com,ListenerSet/internal/https.a.example.com " +
					"-> kubia-website-npsvc:80",
				"kubia-website.https: a.example.com at ListenerSet/edge/http.a.example.com -> redirect 301 https",
				"kubia-website.https-1: a.example.com at ListenerSet/internal/http.a.example.com -> redirect 301 https :8443",
				"kubia-website.canonical: b.example.com at " +
					"ListenerSet/edge/https.b.example.com,ListenerSet/edge/http.b.example.com -> redirect 301 https a.example.com",
				"kubia-website.canonical-1: b.example.com at " +
					"ListenerSet/internal/https.b.example.com,ListenerSet/internal/http.b.example.com -> redirect 301 https " +
					"a.example.com :8443",
			},
		},
		"own listeners at one of two Gateways": {
			website: newWebsite(withHosts("a.example.com"), withCertificate), gateway: newGateway(plain, secure), own: true,
			more: []Gateway{{Gateway: internal}},
			want: []string{
				"kubia-website: a.example.com at ListenerSet/edge/https.a.example.com,Gateway/internal/web -> " +
					"kubia-website-npsvc:80",
				"kubia-website.https: a.example.com at ListenerSet/edge/http.a.example.com -> redirect 301 https",
				"kubia-website.https-1: a.example.com at Gateway/internal/http -> redirect 301 https :8443",
			},
		},
		"with TLS of the listeners": {
			website: newWebsite(withHosts("a.example.com"), withTLSOfListeners),
			gateway: newGateway(plain, secure, listener("other", gatewayv1.HTTPSProtocolType, 443, "*.example.org")),
			want: []string{
				"kubia-website: a.example.com at Gateway/edge/https -> kubia-website-npsvc:80",
				"kubia-website.https: a.example.com at Gateway/edge/http -> redirect 301 https",
			},
		},
		"with TLS of one listener": {
			website: newWebsite(withHosts("a.example.com"), withTLSOfListeners), gateway: newGateway(plain, secure),
			sections: []string{"https"},
			want:     []string{"kubia-website: a.example.com at Gateway/edge/https -> kubia-website-npsvc:80"},
		},
		"with TLS of the listeners, not redirected to https": {
			website: newWebsite(withHosts("a.example.com"), withTLSOfListeners, withoutRedirect),
			gateway: newGateway(plain, secure),
			want:    []string{"kubia-website: a.example.com at Gateway/edge/https,Gateway/edge/http -> kubia-website-npsvc:80"},
		},
		"without ListenerSets, redirected": {
			website: newWebsite(withHosts("www.example.com", "example.com"), withCertificate, redirectedTo("www.example.com")),
			gateway: newGateway(plain, listener("www", gatewayv1.HTTPSProtocolType, 443, "www.example.com"),
				listener("apex", gatewayv1.HTTPSProtocolType, 443, "example.com")),
			want: []string{
				"kubia-website: www.example.com at Gateway/edge/www -> kubia-website-npsvc:80",
				"kubia-website.https: www.example.com at Gateway/edge/http -> redirect 301 https",
				"kubia-website.canonical: example.com at Gateway/edge/apex,Gateway/edge/http -> redirect 301 https www.example.com",
			},
		},
		"without ListenerSets, several ports": {
			website: newWebsite(withHosts("a.example.com", "admin.example.com"), withCertificate),
			gateway: newGateway(plain, listener("admin", gatewayv1.HTTPSProtocolType, 8443, "admin.example.com"),
				listener("a", gatewayv1.HTTPSProtocolType, 443, "a.example.com")),
			want: []string{
				"kubia-website: a.example.com,admin.example.com at Gateway/edge/admin,Gateway/edge/a -> kubia-website-npsvc:80",
				"kubia-website.https: a.example.com at Gateway/edge/http -> redirect 301 https",
				"kubia-website.https-1: admin.example.com at Gateway/edge/http -> redirect 301 https :8443",
			},
		},
		"without ListenerSets, several ports, redirected": {
			website: newWebsite(withHosts("www.example.com", "example.com"), withCertificate, redirectedTo("www.example.com")),
			gateway: newGateway(plain, listener("www", gatewayv1.HTTPSProtocolType, 8443, "www.example.com"),
				listener("apex", gatewayv1.HTTPSProtocolType, 443, "example.com")),
			want: []string{
				"kubia-website: www.example.com at Gateway/edge/www -> kubia-website-npsvc:80",
				"kubia-website.https: www.example.com at Gateway/edge/http -> redirect 301 https :8443",
				"kubia-website.canonical: example.com at Gateway/edge/apex,Gateway/edge/http -> redirect 301 https " +
					"www.example.com :8443",
			},
		},
		"redirected, without TLS": {
			website: newWebsite(withHosts("example.com", "www.example.com"), redirectedTo("www.example.com")),
			gateway: newGateway(plain),
			want: []string{
				"kubia-website: www.example.com at Gateway/edge -> kubia-website-npsvc:80",
				"kubia-website.canonical: example.com at Gateway/edge -> redirect 301 www.example.com",
			},
		},
		"the canonical host is another's": {
			website: newWebsite(withHosts("a.example.com", "b.example.com", "c.example.com"), redirectedTo("a.example.com")),
			held:    []string{"b.example.com", "c.example.com"}, gateway: newGateway(plain),
			want: []string{"kubia-website: b.example.com,c.example.com at Gateway/edge -> kubia-website-npsvc:80"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			held := test.held
			if held == nil {
				held = HostNames(test.website)
			}
			gateways := append([]Gateway{{Gateway: test.gateway, Sections: test.sections, OwnListeners: test.own}}, test.more...)
			got := routeLines(t, &HostRoutes{Website: test.website, Hosts: held, Gateways: gateways})
			if !slices.Equal(got, test.want) {
				t.Errorf("routes:\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(test.want, "\n     "))
			}
		})
	}
}

// TestHostNames: their order is independent of the spec, and a new host moves no other.
func TestHostNames(t *testing.T) {
	website := newWebsite(withHosts("c.example.com", "a.example.com", "b.example.com"))
	if got := HostNames(website); !slices.Equal(got, []string{"a.example.com", "b.example.com", "c.example.com"}) {
		t.Errorf("hosts %v, want them sorted", got)
	}
	website.Status.Hosts = []v1beta1.WebsiteHostStatus{{Name: "gone.example.com"}, {Name: "c.example.com"},
		{Name: "b.example.com"}}
	if got := HostNames(website); !slices.Equal(got, []string{"c.example.com", "b.example.com", "a.example.com"}) {
		t.Errorf("hosts %v, want those that were reported before, and then the new one", got)
	}
}

// TestManyHosts: no child has more hosts, listeners or parents than Gateway API allows.
func TestManyHosts(t *testing.T) {
	for _, gateways := range []int{1, 2, 3, 8} {
		website := newWebsite(withHosts(numbered(64)...), withCertificate, redirectedTo("h9.example.com"))
		routes := &HostRoutes{Website: website, Hosts: HostNames(website)}
		for i := range gateways {
			gateway := newGateway()
			gateway.Name = fmt.Sprint("edge-", i)
			parent := v1beta1.ParentReference{Namespace: gateway.Namespace, Name: gateway.Name}
			website.Spec.Routing.ParentRefs = append(website.Spec.Routing.ParentRefs, parent)
			routes.Gateways = append(routes.Gateways, Gateway{Gateway: gateway, OwnListeners: true})
		}
		names, listeners := map[string]bool{}, map[gatewayv1.Hostname]int{}
		for _, configuration := range routes.ListenerSets() {
			set := typed[gatewayv1.ListenerSet](t, configuration)
			if len(set.Spec.Listeners) > 64 || names[set.Name] {
				t.Errorf("ListenerSet %s has %d listeners, or is there twice", set.Name, len(set.Spec.Listeners))
			}
			names[set.Name] = true
			if deployment, ok := DeploymentNameOfRoute(set.Name); !ok || deployment != "kubia-website" {
				t.Errorf("ListenerSet %s is of Deployment %q", set.Name, deployment)
			}
			for _, listener := range set.Spec.Listeners {
				listeners[*listener.Hostname]++
			}
		}
		if len(listeners) != 64 || listeners["h9.example.com"] != 2*gateways {
			t.Errorf("%d Gateways: listeners for %d hosts, %d for one of them", gateways, len(listeners),
				listeners["h9.example.com"])
		}
		clear(names)
		hosts := map[gatewayv1.Hostname]bool{}
		for _, configuration := range routes.HTTPRoutes() {
			route := typed[gatewayv1.HTTPRoute](t, configuration)
			if len(route.Spec.Hostnames) > 16 || len(route.Spec.ParentRefs) > 32 || len(route.Spec.ParentRefs) < gateways ||
				names[route.Name] {
				t.Errorf("HTTPRoute %s has %d hosts and %d parents, or is there twice", route.Name, len(route.Spec.Hostnames),
					len(route.Spec.ParentRefs))
			}
			names[route.Name] = true
			for _, host := range route.Spec.Hostnames {
				hosts[host] = true
			}
			if deployment, ok := DeploymentNameOfRoute(route.Name); !ok || deployment != "kubia-website" {
				t.Errorf("HTTPRoute %s is of Deployment %q", route.Name, deployment)
			}
		}
		if len(hosts) != 64 {
			t.Errorf("%d Gateways: %d hosts have routes, want 64", gateways, len(hosts))
		}
	}
}

// TestGatewayIsDeleted: no host moves to another route or ListenerSet.
func TestGatewayIsDeleted(t *testing.T) {
	website := newWebsite(withHosts(numbered(16)...), withCertificate)
	website.Spec.Routing.ParentRefs = []v1beta1.ParentReference{{Namespace: "infra", Name: "edge"},
		{Namespace: "infra", Name: "internal"}}
	internal := newGateway()
	internal.Name = "internal"
	gateways := []Gateway{{Gateway: newGateway(), OwnListeners: true}, {Gateway: internal, OwnListeners: true}}
	childrenOf := func(gateways []Gateway) map[gatewayv1.Hostname]string {
		children := map[gatewayv1.Hostname]string{}
		routes := &HostRoutes{Website: website, Hosts: HostNames(website), Gateways: gateways}
		for _, route := range routes.HTTPRoutes() {
			for _, host := range route.Spec.Hostnames {
				children[host] += *route.GetName() + " "
			}
		}
		for _, set := range routes.ListenerSets() {
			if *set.Spec.ParentRef.Name == "edge" {
				for _, listener := range set.Spec.Listeners {
					children[*listener.Hostname] += *set.GetName() + " "
				}
			}
		}
		return children
	}
	if got, want := childrenOf(gateways[:1]), childrenOf(gateways); !maps.Equal(got, want) {
		t.Errorf("children with one of the Gateways: %v, want %v", got, want)
	}
}

// TestListenersOfIssuer: cert-manager finds the issuer at one object, and has a Secret for each host.
func TestListenersOfIssuer(t *testing.T) {
	website := newWebsite(withHosts("a.example.com", "b.example.com"), withIssuer("cert-manager.io", "ClusterIssuer"))
	internal := newGateway()
	internal.Name = "internal"
	sets := (&HostRoutes{
		Website: website, Hosts: HostNames(website), Gateways: []Gateway{{Gateway: newGateway(), OwnListeners: true},
			{Gateway: internal, OwnListeners: true}},
	}).ListenerSets()
	if len(sets) != 2 || len(sets[1].Annotations) > 0 {
		t.Fatalf("%d ListenerSets, the second with annotations %v, want 2, and the issuer at the first", len(sets),
			sets[len(sets)-1].Annotations)
	}
	set := typed[gatewayv1.ListenerSet](t, sets[0])
	if got := set.Annotations["cert-manager.io/cluster-issuer"]; got != "letsencrypt" {
		t.Errorf("annotations %v, want the issuer", set.Annotations)
	}
	secrets := map[gatewayv1.ObjectName]bool{}
	for _, listener := range set.Spec.Listeners {
		if listener.Protocol == gatewayv1.HTTPSProtocolType {
			secrets[listener.TLS.CertificateRefs[0].Name] = true
		}
	}
	if len(secrets) != 2 {
		t.Errorf("Secrets %v, want one for each host", secrets)
	}
}

// TestIssuerAnnotations: for each kind of issuer.
func TestIssuerAnnotations(t *testing.T) {
	for name, test := range map[string]struct {
		group, kind string
		want        map[string]string
	}{
		"of the namespace": {"cert-manager.io", "Issuer", map[string]string{"cert-manager.io/issuer": "letsencrypt"}},
		"of the cluster": {"cert-manager.io", "ClusterIssuer",
			map[string]string{"cert-manager.io/cluster-issuer": "letsencrypt"}},
		"of another kind": {"cert-manager.io", "X",
			map[string]string{"cert-manager.io/issuer": "letsencrypt", "cert-manager.io/issuer-kind": "X"}},
		"external": {"awspca.cert-manager.io", "AWSPCAIssuer", map[string]string{
			"cert-manager.io/issuer": "letsencrypt", "cert-manager.io/issuer-kind": "AWSPCAIssuer",
			"cert-manager.io/issuer-group": "awspca.cert-manager.io",
		}},
	} {
		if got := issuerAnnotations(newWebsite(withIssuer(test.group, test.kind))); !maps.Equal(got, test.want) {
			t.Errorf("%s: annotations %v, want %v", name, got, test.want)
		}
	}
}

func TestIngress(t *testing.T) {
	website := newWebsite(withHosts("a.example.com", "b.example.com"), withCertificate)
	ingress := Ingress(website, []string{"b.example.com"}, "nginx")
	if *ingress.Spec.IngressClassName != "nginx" || len(ingress.Spec.Rules) != 1 ||
		*ingress.Spec.Rules[0].Host != "b.example.com" ||
		len(ingress.Spec.TLS) != 1 || *ingress.Spec.TLS[0].SecretName != "certificate" {
		t.Errorf("Ingress %+v, want the class, the host that the Website has and its certificate", ingress.Spec)
	}
	ofController := Ingress(newWebsite(withHosts("b.example.com"), withTLSOfListeners),
		[]string{"b.example.com"}, "").Spec.TLS
	if len(ofController) != 1 || ofController[0].SecretName != nil ||
		!slices.Equal(ofController[0].Hosts, []string{"b.example.com"}) {
		t.Errorf("TLS %+v, want the default certificate of the controller", ofController)
	}
	if ingress := Ingress(newWebsite(), []string{"b.example.com"}, ""); ingress.Spec.IngressClassName != nil ||
		len(ingress.Spec.TLS) != 0 {
		t.Errorf("Ingress %+v, want neither class nor TLS", ingress.Spec)
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
