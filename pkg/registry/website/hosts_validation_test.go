package website

import (
	"fmt"
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func hosts(names ...string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Hosts = hostsOf(names...) }
}

// inRole sets the role of a host in the list.
func inRole(i int, role v1beta1.HostRole) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Hosts[i].Role = role }
}

// withTLS serves the hosts with TLS.
func withTLS(mode v1beta1.TLSMode) func(*website.Website) {
	return func(w *website.Website) { w.Spec.TLS = &v1beta1.WebsiteTLS{Mode: mode, Redirect: new(true)} }
}

// withCertificate names the Secret of the certificate.
func withCertificate(secret string) func(*website.Website) {
	return tweaks(withTLS(v1beta1.TLSModeSecret),
		func(w *website.Website) { w.Spec.TLS.SecretRef = &v1beta1.SecretReference{Name: secret} })
}

func withIssuer(group, kind, name string) func(*website.Website) {
	return tweaks(withTLS(v1beta1.TLSModeIssuer), func(w *website.Website) {
		w.Spec.TLS.IssuerRef = &v1beta1.IssuerReference{Group: group, Kind: kind, Name: name}
	})
}

func throughGateway(namespace, name, section string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Routing.ParentRefs = append(w.Spec.Routing.ParentRefs,
			v1beta1.ParentReference{Namespace: namespace, Name: name, SectionName: section})
	}
}

// throughGateways has n parents.
func throughGateways(n int) func(*website.Website) {
	return func(w *website.Website) {
		for i := range n {
			throughGateway("", fmt.Sprint("g", i), "")(w)
		}
	}
}

func throughIngress(class string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Routing.IngressClassName = class }
}

func balancer(class string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Service = v1beta1.WebsiteService{Type: v1beta1.ServiceTypeLoadBalancer, LoadBalancerClass: class}
	}
}

func serviceAnnotations(annotations map[string]string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Service.Annotations = annotations }
}

// numbered returns n host names.
func numbered(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("h%d.example.com", i))
	}
	return names
}

const mustBeName = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ` +
	`and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
	`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

// issuers is the group of cert-manager.
const issuers = "cert-manager.io"

// hostCases cover the hosts, their routing, and the Service of a load balancer.
var hostCases = map[string]specCase{
	"hosts":                {tweak: hosts("shop.example.com", "*.shop.example.com", "xn--bcher-kva.example")},
	"as many hosts as can": {tweak: hosts(numbered(64)...)},
	"too many hosts": {tweak: hosts(numbered(65)...),
		want: []string{"spec.hosts: Too many: 65: must have at most 64 items"}},
	"host twice": {tweak: hosts("a.example.com", "a.example.com"),
		want: []string{`spec.hosts[1]: Duplicate value: {"name":"a.example.com","role":"Alias"}`}},
	"host without name": {tweak: hosts(""), want: []string{"spec.hosts[0].name: Required value"}},
	"host of one label": {tweak: hosts("shop"),
		want: []string{`spec.hosts[0].name: Invalid value: "shop": must be a full DNS name, such as www.example.com`}},
	"host of a top level": {tweak: hosts("*.com"),
		want: []string{`spec.hosts[0].name: Invalid value: "*.com": must be a full DNS name, such as www.example.com`}},
	"host that is a URL": {
		tweak: hosts("https://a.example.com"), want: []string{`spec.hosts[0].name: Invalid value: "https://a.example.com": ` +
			mustBeName + `; its first label may be "*"`},
	},
	"host with a port": {
		tweak: hosts("a.example.com:80"), want: []string{
			`spec.hosts[0].name: Invalid value: "a.example.com:80": ` + mustBeName + `; its first label may be "*"`,
		},
	},
	"host in upper case": {
		tweak: hosts("A.example.com"), want: []string{`spec.hosts[0].name: Invalid value: "A.example.com": ` + mustBeName +
			`; its first label may be "*"`},
	},
	"address as host": {tweak: hosts("10.0.0.1"),
		want: []string{`spec.hosts[0].name: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`}},
	"wildcard in between": {
		tweak: hosts("a.*.example.com"), want: []string{
			`spec.hosts[0].name: Invalid value: "a.*.example.com": ` + mustBeName + `; its first label may be "*"`,
		},
	},
	"label too long": {
		tweak: hosts(strings.Repeat("a", 64) + ".example.com"),
		want: []string{`spec.hosts[0].name: Invalid value: "` + strings.Repeat("a", 64) + `.example.com": no label may ` +
			`have more than 63 characters`},
	},
	"host too long": {tweak: hosts(strings.Repeat("a.", 115) + "a"),
		want: []string{"spec.hosts[0].name: Too long: may not be more than 230 characters"}},

	"redirected": {tweak: tweaks(hosts("*.example.com", "a.example.com", "b.example.com"),
		inRole(0, v1beta1.HostRoleRedirect), inRole(1, v1beta1.HostRoleCanonical))},
	"canonical, none redirected": {tweak: tweaks(hosts("a.example.com"), inRole(0, v1beta1.HostRoleCanonical))},
	"redirected to a wildcard": {tweak: tweaks(hosts("*.example.com", "a.example.com"),
		inRole(0, v1beta1.HostRoleCanonical), inRole(1, v1beta1.HostRoleRedirect)),
		want: []string{`spec.hosts[0].name: Invalid value: "*.example.com": must have no wildcard when the role is ` +
			`Canonical: other hosts are redirected to it`}},
	"redirected to nothing": {tweak: tweaks(hosts("a.example.com", "b.example.com"), inRole(1, v1beta1.HostRoleRedirect)),
		want: []string{`spec.hosts[1].role: Invalid value: "Redirect": requires another host with the role Canonical`}},
	"two canonical hosts": {tweak: tweaks(hosts("a.example.com", "b.example.com"), inRole(0, v1beta1.HostRoleCanonical),
		inRole(1, v1beta1.HostRoleCanonical)),
		want: []string{`spec.hosts[1].role: Invalid value: "Canonical": only one host may be canonical, and ` +
			`a.example.com is`}},
	"another role": {
		tweak: tweaks(hosts("a.example.com"), inRole(0, "Mirror")),
		want: []string{`spec.hosts[0].role: Unsupported value: "Mirror": supported values: "Alias", "Canonical", ` +
			`"Redirect"`},
	},

	"gateway":          {tweak: tweaks(hosts("a.example.com"), throughGateway("infra", "public", "https"))},
	"several gateways": {tweak: tweaks(hosts("a.example.com"), throughGateways(8))},
	"two listeners": {tweak: tweaks(hosts("a.example.com"), throughGateway("infra", "public", "http"),
		throughGateway("infra", "public", "https"))},
	"too many gateways": {tweak: tweaks(hosts("a.example.com"), throughGateways(9)),
		want: []string{"spec.routing.parentRefs: Too many: 9: must have at most 8 items"}},
	"gateway twice": {tweak: tweaks(hosts("a.example.com"), throughGateway("", "public", ""),
		throughGateway("", "public", "")), want: []string{`spec.routing.parentRefs[1]: Duplicate value: "public"`}},
	"gateway without hosts": {tweak: throughGateway("", "public", ""),
		want: []string{"spec.routing: Forbidden: may only be set when hosts are set"}},
	"gateway without name": {tweak: tweaks(hosts("a.example.com"), throughGateway("infra", "", "")),
		want: []string{"spec.routing.parentRefs[0].name: Required value"}},
	"gateway of bad namespace": {tweak: tweaks(hosts("a.example.com"), throughGateway("a.b", "public", "")),
		want: []string{`spec.routing.parentRefs[0].namespace: Invalid value: "a.b": must not contain dots`}},
	"gateway of bad listener": {tweak: tweaks(hosts("a.example.com"), throughGateway("", "public", "a_b")),
		want: []string{`spec.routing.parentRefs[0].sectionName: Invalid value: "a_b": ` + mustBeName}},
	"gateway and ingress": {
		tweak: tweaks(hosts("a.example.com"), throughGateway("", "public", ""), throughIngress("nginx")),
		want: []string{"spec.routing: Invalid value: \"{parentRefs, ingressClassName}\": must specify at most one of: " +
			"`parentRefs`, `ingressClassName`"},
	},
	"ingress": {tweak: tweaks(hosts("a.example.com"), throughIngress("nginx"))},
	"ingress of no class": {tweak: tweaks(hosts("a.example.com"), throughIngress("a b")),
		want: []string{`spec.routing.ingressClassName: Invalid value: "a b": ` + mustBeName}},

	"certificate of the listeners": {tweak: tweaks(hosts("a.example.com"), withTLS(v1beta1.TLSModeListener),
		throughGateway("", "public", "https"))},
	"certificate": {tweak: tweaks(hosts("a.example.com"), withCertificate("cert"))},
	"certificate without hosts": {tweak: withCertificate("cert"),
		want: []string{"spec.tls: Forbidden: may only be set when hosts are set"}},
	"certificate of no Secret": {tweak: tweaks(hosts("a.example.com"), withCertificate("a b")),
		want: []string{`spec.tls.secretRef.name: Invalid value: "a b": ` + mustBeName}},
	"certificate at a listener": {tweak: tweaks(hosts("a.example.com"), withCertificate("cert"),
		throughGateway("", "public", "https")),
		want: []string{"spec.routing.parentRefs[0].sectionName: Forbidden: must not be set when tls.mode is Secret: the " +
			"listener of the Gateway has its own certificate"}},
	"certificate of no mode": {tweak: tweaks(hosts("a.example.com"), withTLS("")),
		want: []string{"spec.tls.mode: Required value"}},
	"certificate of another mode": {tweak: tweaks(hosts("a.example.com"), withTLS("Vault")),
		want: []string{`spec.tls.mode: Unsupported value: "Vault": supported values: "Issuer", "Listener", "Secret"`}},
	"certificate that is missing": {tweak: tweaks(hosts("a.example.com"), withTLS(v1beta1.TLSModeSecret)),
		want: []string{`spec.tls.secretRef: Invalid value: "": must be specified when ` + "`mode`" + ` is "Secret"`}},
	"certificate that is not used": {tweak: tweaks(hosts("a.example.com"), withCertificate("cert"),
		func(w *website.Website) { w.Spec.TLS.Mode = v1beta1.TLSModeListener }),
		want: []string{`spec.tls.secretRef: Invalid value: "": may only be specified when ` + "`mode`" + ` is "Secret"`}},
	"certificate and issuer": {tweak: tweaks(hosts("a.example.com"), withIssuer(issuers, "Issuer", "a"),
		func(w *website.Website) { w.Spec.TLS.SecretRef = &v1beta1.SecretReference{Name: "cert"} }),
		want: []string{`spec.tls.secretRef: Invalid value: "": may only be specified when ` + "`mode`" + ` is "Secret"`}},
	"issuer": {tweak: tweaks(hosts("a.example.com"), withIssuer(issuers, "ClusterIssuer", "letsencrypt"))},
	"external issuer": {
		tweak: tweaks(hosts("a.example.com"), withIssuer("awspca.cert-manager.io", "AWSPCAClusterIssuer", "ca")),
	},
	"issuer without name": {tweak: tweaks(hosts("a.example.com"), withIssuer(issuers, "Issuer", "")),
		want: []string{"spec.tls.issuerRef.name: Required value"}},
	"issuer of no kind": {tweak: tweaks(hosts("a.example.com"), withIssuer(issuers, "A/b", "a")),
		want: []string{
			`spec.tls.issuerRef.kind: Invalid value: "A/b": must be the kind of an issuer, such as ClusterIssuer`,
		}},
	"issuer of a long kind": {tweak: tweaks(hosts("a.example.com"), withIssuer(issuers, strings.Repeat("A", 64), "a")),
		want: []string{"spec.tls.issuerRef.kind: Too long: may not be more than 63 characters"}},
	"issuer of no group": {tweak: tweaks(hosts("a.example.com"), withIssuer("a_b", "Issuer", "a")),
		want: []string{`spec.tls.issuerRef.group: Invalid value: "a_b": ` + mustBeName}},

	"class of load balancers": {tweak: balancer("example.com/internal")},
	"class without balancer": {tweak: func(w *website.Website) { w.Spec.Service.LoadBalancerClass = "internal" },
		want: []string{"spec.service.loadBalancerClass: Forbidden: may only be set when the type is LoadBalancer"}},
	"class of a balancer that is no name": {tweak: balancer("a b"),
		want: []string{`spec.service.loadBalancerClass: Invalid value: "a b": ` + utilvalidation.IsQualifiedName("a b")[0]}},
	"annotations of the Service": {tweak: serviceAnnotations(map[string]string{"example.com/internal": "true"})},
	"annotations too large": {tweak: serviceAnnotations(map[string]string{"a": strings.Repeat("a", 4<<10)}),
		want: []string{"spec.service.annotations: Too long: may not be more than 4096 bytes as JSON: the size is 4104"}},
	"annotation of ours": {
		tweak: serviceAnnotations(map[string]string{website.GroupName + "/website-generation": "1"}),
		want: []string{"spec.service.annotations[" + website.GroupName + "/website-generation]: Forbidden: " +
			"website-controller sets the annotations of this domain"},
	},
}

// hostsOf returns hosts with the role Alias.
func hostsOf(names ...string) []v1beta1.WebsiteHost {
	var hosts []v1beta1.WebsiteHost
	for _, name := range names {
		hosts = append(hosts, v1beta1.WebsiteHost{Name: name, Role: v1beta1.HostRoleAlias})
	}
	return hosts
}
