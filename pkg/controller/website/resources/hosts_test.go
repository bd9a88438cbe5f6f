package resources

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func newGateway(listeners ...gatewayv1.Listener) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "infra"}, Spec: gatewayv1.GatewaySpec{Listeners: listeners}}
}

func listener(name string, protocol gatewayv1.ProtocolType, port int32, hostname gatewayv1.Hostname) gatewayv1.Listener {
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
			line := fmt.Sprintf("%s/%s", *parent.Kind, parent.Name)
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
		lines = append(lines, fmt.Sprintf("%s: %s at %s -> %s", route.Name, strings.Join(hosts, ","), strings.Join(parents, ","), what))
	}
	return lines
}

func withHosts(hosts ...string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Spec.Hosts = hosts }
}

func withCertificate(website *v1beta1.Website) {
	website.Spec.TLS.SecretRef = &v1beta1.SecretReference{Name: "certificate"}
}

func redirected(website *v1beta1.Website) { website.Spec.RedirectToCanonical = true }

func TestHTTPRoutes(t *testing.T) {
	plain := listener("http", gatewayv1.HTTPProtocolType, 80, "")
	secure := listener("https", gatewayv1.HTTPSProtocolType, 443, "")
	tests := map[string]struct {
		website *v1beta1.Website
		// held are the hosts that the Website has; nil for all.
		held    []string
		gateway *gatewayv1.Gateway
		own     bool
		want    []string
	}{
		"the Gateway's listeners": {
			website: newWebsite(withHosts("a.example.com", "b.example.com")), gateway: newGateway(plain, secure),
			want: []string{"kubia-website: a.example.com,b.example.com at Gateway/edge -> kubia-website-npsvc:80"},
		},
		"one listener of the Gateway": {
			website: newWebsite(withHosts("a.example.com"), func(w *v1beta1.Website) {
				w.Spec.Routing.Gateway = &v1beta1.GatewayReference{Name: "edge", SectionName: "https"}
			}), gateway: newGateway(plain, secure),
			want: []string{"kubia-website: a.example.com at Gateway/edge/https -> kubia-website-npsvc:80"},
		},
		"own listeners": {
			website: newWebsite(withHosts("a.example.com", "*.example.com"), withCertificate), gateway: newGateway(), own: true,
			want: []string{
				"kubia-website: a.example.com,*.example.com at ListenerSet/kubia-website/https.a.example.com,ListenerSet/kubia-website/https-any.example.com -> kubia-website-npsvc:80",
				"kubia-website.https: a.example.com,*.example.com at ListenerSet/kubia-website/http.a.example.com,ListenerSet/kubia-website/http-any.example.com -> redirect 301 https",
			},
		},
		"own listeners, unusual port, redirected": {
			website: newWebsite(withHosts("a.example.com", "b.example.com"), withCertificate, redirected),
			gateway: newGateway(listener("https", gatewayv1.HTTPSProtocolType, 8443, "")), own: true,
			want: []string{
				"kubia-website: a.example.com at ListenerSet/kubia-website/https.a.example.com -> kubia-website-npsvc:80",
				"kubia-website.canonical: b.example.com at ListenerSet/kubia-website/https.b.example.com -> redirect 301 https a.example.com :8443",
				"kubia-website.https: a.example.com,b.example.com at ListenerSet/kubia-website/http.a.example.com,ListenerSet/kubia-website/http.b.example.com -> redirect 301 https a.example.com :8443",
			},
		},
		"without ListenerSets": {
			website: newWebsite(withHosts("a.example.com"), withCertificate), gateway: newGateway(plain, secure, listener("other", gatewayv1.HTTPSProtocolType, 443, "*.example.org")),
			want: []string{
				"kubia-website: a.example.com at Gateway/edge/https -> kubia-website-npsvc:80",
				"kubia-website.https: a.example.com at Gateway/edge/http -> redirect 301 https",
			},
		},
		"without ListenerSets, redirected": {
			website: newWebsite(withHosts("www.example.com", "example.com"), withCertificate, redirected),
			gateway: newGateway(plain, listener("www", gatewayv1.HTTPSProtocolType, 443, "www.example.com"), listener("apex", gatewayv1.HTTPSProtocolType, 443, "example.com")),
			want: []string{
				"kubia-website: www.example.com at Gateway/edge/www -> kubia-website-npsvc:80",
				"kubia-website.canonical: example.com at Gateway/edge/apex -> redirect 301 https www.example.com",
				"kubia-website.https: www.example.com,example.com at Gateway/edge/http -> redirect 301 https www.example.com",
			},
		},
		"without ListenerSets, several ports": {
			website: newWebsite(withHosts("a.example.com", "admin.example.com"), withCertificate),
			gateway: newGateway(plain, listener("admin", gatewayv1.HTTPSProtocolType, 8443, "admin.example.com"), listener("a", gatewayv1.HTTPSProtocolType, 443, "a.example.com")),
			want: []string{
				"kubia-website: a.example.com,admin.example.com at Gateway/edge/admin,Gateway/edge/a -> kubia-website-npsvc:80",
				"kubia-website.https: a.example.com at Gateway/edge/http -> redirect 301 https",
				"kubia-website.https-8443: admin.example.com at Gateway/edge/http -> redirect 301 https :8443",
			},
		},
		"without ListenerSets, several ports, redirected": {
			website: newWebsite(withHosts("www.example.com", "example.com"), withCertificate, redirected),
			gateway: newGateway(plain, listener("www", gatewayv1.HTTPSProtocolType, 8443, "www.example.com"), listener("apex", gatewayv1.HTTPSProtocolType, 443, "example.com")),
			want: []string{
				"kubia-website: www.example.com at Gateway/edge/www -> kubia-website-npsvc:80",
				"kubia-website.canonical: example.com at Gateway/edge/apex -> redirect 301 https www.example.com :8443",
				"kubia-website.https: www.example.com,example.com at Gateway/edge/http -> redirect 301 https www.example.com :8443",
			},
		},
		"redirected, without TLS": {
			website: newWebsite(withHosts("www.example.com", "example.com"), redirected), gateway: newGateway(plain),
			want: []string{
				"kubia-website: www.example.com at Gateway/edge -> kubia-website-npsvc:80",
				"kubia-website.canonical: example.com at Gateway/edge -> redirect 301 www.example.com",
			},
		},
		"the canonical host is another's": {
			website: newWebsite(withHosts("a.example.com", "b.example.com", "c.example.com"), redirected), held: []string{"b.example.com", "c.example.com"}, gateway: newGateway(plain),
			want: []string{"kubia-website: b.example.com,c.example.com at Gateway/edge -> kubia-website-npsvc:80"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			held := test.held
			if held == nil {
				held = test.website.Spec.Hosts
			}
			got := routeLines(t, &HostRoutes{Website: test.website, Hosts: held, Gateway: test.gateway, OwnListeners: test.own})
			if !slices.Equal(got, test.want) {
				t.Errorf("routes:\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(test.want, "\n     "))
			}
		})
	}
}

// TestManyHosts: no child has more hosts, listeners or parents than Gateway API allows.
func TestManyHosts(t *testing.T) {
	website := newWebsite(withHosts(numbered(64)...), withCertificate, redirected)
	routes := &HostRoutes{Website: website, Hosts: website.Spec.Hosts, Gateway: newGateway(), OwnListeners: true}
	names, listeners := map[string]bool{}, map[gatewayv1.Hostname]int{}
	for _, configuration := range routes.ListenerSets() {
		set := typed[gatewayv1.ListenerSet](t, configuration)
		if len(set.Spec.Listeners) > 64 || names[set.Name] {
			t.Errorf("ListenerSet %s has %d listeners, or is there twice", set.Name, len(set.Spec.Listeners))
		}
		names[set.Name] = true
		for _, listener := range set.Spec.Listeners {
			listeners[*listener.Hostname]++
		}
	}
	if len(names) != 4 || len(listeners) != 64 {
		t.Errorf("%d ListenerSets with %d hosts, want 4 with 64", len(names), len(listeners))
	}
	clear(names)
	for _, configuration := range routes.HTTPRoutes() {
		route := typed[gatewayv1.HTTPRoute](t, configuration)
		if len(route.Spec.Hostnames) > 16 || len(route.Spec.ParentRefs) > 32 || names[route.Name] {
			t.Errorf("HTTPRoute %s has %d hosts and %d parents, or is there twice", route.Name, len(route.Spec.Hostnames), len(route.Spec.ParentRefs))
		}
		names[route.Name] = true
		if deployment, ok := DeploymentNameOfRoute(route.Name); !ok || deployment != "kubia-website" {
			t.Errorf("HTTPRoute %s is of Deployment %q", route.Name, deployment)
		}
	}
}

// TestListenersOfIssuer: cert-manager finds the issuer, and has a Secret for each host.
func TestListenersOfIssuer(t *testing.T) {
	website := newWebsite(withHosts("a.example.com", "b.example.com"), func(w *v1beta1.Website) {
		w.Spec.TLS.IssuerRef = &v1beta1.IssuerReference{Name: "letsencrypt", Kind: v1beta1.IssuerKindClusterIssuer}
	})
	sets := (&HostRoutes{Website: website, Hosts: website.Spec.Hosts, Gateway: newGateway(), OwnListeners: true}).ListenerSets()
	set := typed[gatewayv1.ListenerSet](t, sets[0])
	if got := set.Annotations["cert-manager.io/cluster-issuer"]; len(sets) != 1 || got != "letsencrypt" {
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
	website.Spec.TLS.IssuerRef.Kind = v1beta1.IssuerKindIssuer
	if got := issuerAnnotations(website)["cert-manager.io/issuer"]; got != "letsencrypt" {
		t.Errorf("annotations %v, want the issuer of the namespace", issuerAnnotations(website))
	}
}

func TestIngress(t *testing.T) {
	website := newWebsite(withHosts("a.example.com", "b.example.com"), withCertificate)
	ingress := Ingress(website, []string{"b.example.com"}, "nginx")
	if *ingress.Spec.IngressClassName != "nginx" || len(ingress.Spec.Rules) != 1 || *ingress.Spec.Rules[0].Host != "b.example.com" ||
		len(ingress.Spec.TLS) != 1 || *ingress.Spec.TLS[0].SecretName != "certificate" {
		t.Errorf("Ingress %+v, want the class, the host that the Website has and its certificate", ingress.Spec)
	}
	if ingress := Ingress(newWebsite(), []string{"b.example.com"}, ""); ingress.Spec.IngressClassName != nil || len(ingress.Spec.TLS) != 0 {
		t.Errorf("Ingress %+v, want neither class nor TLS", ingress.Spec)
	}
}
