package website

import (
	"fmt"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

func hosts(names ...string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Hosts = names }
}

// withCertificate names the Secret of the certificate.
func withCertificate(secret string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.TLS.SecretRef = &website.SecretReference{Name: secret} }
}

func withIssuer(name string, kind website.IssuerKind) func(*website.Website) {
	return func(w *website.Website) { w.Spec.TLS.IssuerRef = &website.IssuerReference{Name: name, Kind: kind} }
}

func throughGateway(namespace, name, section string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Routing.Gateway = &website.GatewayReference{Name: name, Namespace: namespace, SectionName: section}
	}
}

func throughIngress(class string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Routing.IngressClassName = class }
}

func balancer(class string) func(*website.Website) {
	return func(w *website.Website) {
		w.Spec.Service = website.WebsiteService{Type: website.ServiceTypeLoadBalancer, LoadBalancerClass: class}
	}
}

func serviceAnnotations(annotations map[string]string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Service.Annotations = annotations }
}

func redirected(w *website.Website) { w.Spec.RedirectToCanonical = true }

// numbered returns n hosts.
func numbered(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("h%d.example.com", i))
	}
	return names
}

const mustBeName = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

// hostCases are about the hosts, what routes them, and the Service that a cloud routes.
var hostCases = map[string]specCase{
	"hosts":                {tweak: hosts("shop.example.com", "*.shop.example.com", "xn--bcher-kva.example")},
	"as many hosts as can": {tweak: hosts(numbered(64)...)},
	"too many hosts":       {tweak: hosts(numbered(65)...), want: []string{"spec.hosts: Too many: 65: must have at most 64 items"}},
	"host twice":           {tweak: hosts("a.example.com", "a.example.com"), want: []string{`spec.hosts[1]: Duplicate value: "a.example.com"`}},
	"host of one label":    {tweak: hosts("shop"), want: []string{`spec.hosts[0]: Invalid value: "shop": must be a full DNS name, such as www.example.com`}},
	"host of a top level":  {tweak: hosts("*.com"), want: []string{`spec.hosts[0]: Invalid value: "*.com": must be a full DNS name, such as www.example.com`}},
	"host that is a URL":   {tweak: hosts("https://a.example.com"), want: []string{`spec.hosts[0]: Invalid value: "https://a.example.com": ` + mustBeName + `; its first label may be "*"`}},
	"host with a port":     {tweak: hosts("a.example.com:80"), want: []string{`spec.hosts[0]: Invalid value: "a.example.com:80": ` + mustBeName + `; its first label may be "*"`}},
	"host in upper case":   {tweak: hosts("A.example.com"), want: []string{`spec.hosts[0]: Invalid value: "A.example.com": ` + mustBeName + `; its first label may be "*"`}},
	"address as host":      {tweak: hosts("10.0.0.1"), want: []string{`spec.hosts[0]: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`}},
	"wildcard in between":  {tweak: hosts("a.*.example.com"), want: []string{`spec.hosts[0]: Invalid value: "a.*.example.com": ` + mustBeName + `; its first label may be "*"`}},
	"label too long":       {tweak: hosts(strings.Repeat("a", 64) + ".example.com"), want: []string{`spec.hosts[0]: Invalid value: "` + strings.Repeat("a", 64) + `.example.com": no label may have more than 63 characters`}},
	"host too long":        {tweak: hosts(strings.Repeat("a.", 115) + "a"), want: []string{"spec.hosts[0]: Too long: may not be more than 230 characters"}},

	"redirected":                 {tweak: tweaks(hosts("a.example.com", "*.example.com"), redirected)},
	"redirected to a wildcard":   {tweak: tweaks(hosts("*.example.com", "a.example.com"), redirected), want: []string{`spec.hosts[0]: Invalid value: "*.example.com": must have no wildcard when redirectToCanonical is true: the other hosts are redirected to it`}},
	"redirected to nothing":      {tweak: redirected, want: []string{"spec.redirectToCanonical: Forbidden: may only be set when hosts are set"}},
	"gateway":                    {tweak: tweaks(hosts("a.example.com"), throughGateway("infra", "public", "https"))},
	"gateway without hosts":      {tweak: throughGateway("", "public", ""), want: []string{"spec.routing: Forbidden: may only be set when hosts are set"}},
	"gateway without name":       {tweak: tweaks(hosts("a.example.com"), throughGateway("infra", "", "")), want: []string{"spec.routing.gateway.name: Required value"}},
	"gateway of bad namespace":   {tweak: tweaks(hosts("a.example.com"), throughGateway("a.b", "public", "")), want: []string{`spec.routing.gateway.namespace: Invalid value: "a.b": must not contain dots`}},
	"gateway of bad listener":    {tweak: tweaks(hosts("a.example.com"), throughGateway("", "public", "a_b")), want: []string{`spec.routing.gateway.sectionName: Invalid value: "a_b": ` + mustBeName}},
	"gateway and ingress":        {tweak: tweaks(hosts("a.example.com"), throughGateway("", "public", ""), throughIngress("nginx")), want: []string{"spec.routing: Invalid value: \"{gateway, ingressClassName}\": must specify at most one of: `gateway`, `ingressClassName`"}},
	"ingress":                    {tweak: tweaks(hosts("a.example.com"), throughIngress("nginx"))},
	"ingress of no class":        {tweak: tweaks(hosts("a.example.com"), throughIngress("a b")), want: []string{`spec.routing.ingressClassName: Invalid value: "a b": ` + mustBeName}},
	"certificate":                {tweak: tweaks(hosts("a.example.com"), withCertificate("cert"))},
	"certificate without hosts":  {tweak: withCertificate("cert"), want: []string{"spec.tls: Forbidden: may only be set when hosts are set"}},
	"certificate of no Secret":   {tweak: tweaks(hosts("a.example.com"), withCertificate("a b")), want: []string{`spec.tls.secretRef.name: Invalid value: "a b": ` + mustBeName}},
	"certificate at a listener":  {tweak: tweaks(hosts("a.example.com"), withCertificate("cert"), throughGateway("", "public", "https")), want: []string{"spec.routing.gateway.sectionName: Forbidden: must not be set together with tls: the listener of the Gateway has its own certificate"}},
	"issuer":                     {tweak: tweaks(hosts("a.example.com"), withIssuer("letsencrypt", website.IssuerKindClusterIssuer))},
	"issuer without name":        {tweak: tweaks(hosts("a.example.com"), withIssuer("", website.IssuerKindIssuer)), want: []string{"spec.tls.issuerRef.name: Required value"}},
	"issuer of another kind":     {tweak: tweaks(hosts("a.example.com"), withIssuer("a", "VaultIssuer")), want: []string{`spec.tls.issuerRef.kind: Unsupported value: "VaultIssuer": supported values: "ClusterIssuer", "Issuer"`}},
	"certificate and issuer":     {tweak: tweaks(hosts("a.example.com"), withCertificate("cert"), withIssuer("a", website.IssuerKindIssuer)), want: []string{"spec.tls: Invalid value: \"{secretRef, issuerRef}\": must specify at most one of: `secretRef`, `issuerRef`"}},
	"class of load balancers":    {tweak: balancer("example.com/internal")},
	"class without balancer":     {tweak: func(w *website.Website) { w.Spec.Service.LoadBalancerClass = "internal" }, want: []string{"spec.service.loadBalancerClass: Forbidden: may only be set when the type is LoadBalancer"}},
	"annotations of the Service": {tweak: serviceAnnotations(map[string]string{"example.com/internal": "true"})},
	"annotations too large":      {tweak: serviceAnnotations(map[string]string{"a": strings.Repeat("a", 4<<10)}), want: []string{"spec.service.annotations: Too long: may not be more than 4096 bytes as JSON: the size is 4104"}},
	"annotation of ours":         {tweak: serviceAnnotations(map[string]string{website.GroupName + "/website-generation": "1"}), want: []string{"spec.service.annotations[" + website.GroupName + "/website-generation]: Forbidden: website-controller sets the annotations of this domain"}},
}
