package devcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

const (
	// HostDomain is the domain of the hosts that the Gateway serves. The DNS of pods resolves
	// its names; they do not exist in public DNS (RFC 6761).
	HostDomain = "example.test"
	// GatewayNamespace and GatewayName identify the Gateway.
	GatewayNamespace, GatewayName = "gateway", "public"
	// gatewayCertificate names the certificate of the Gateway's HTTPS listener, and its Secret.
	gatewayCertificate = "gateway"
	// exampleHost is the host of the example Website.
	exampleHost = "www." + HostDomain
)

// gatewayObjects are the Gateway and its dependencies. The Gateway allows no ListenerSets, because
// Traefik does not support them.
var gatewayObjects = template.Must(template.New("gateway").Parse(`
apiVersion: v1
kind: Namespace
metadata: {name: {{.Namespace}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: traefik}
spec: {controllerName: traefik.io/gateway-controller}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: traefik}
spec: {controller: traefik.io/ingress-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: {{.Name}}, namespace: {{.Namespace}}}
spec:
  gatewayClassName: traefik
  listeners:
    - {name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}
    - name: https
      port: 443
      protocol: HTTPS
      allowedRoutes: {namespaces: {from: All}}
      tls: {certificateRefs: [{name: {{.Certificate}}}]}
`))

// SitesCA is the path of the certificate of the CA that signs the hosts' certificates, as PEM.
// A browser that opens the hosts must trust it.
func (c *Cluster) SitesCA() string { return c.plan.layout.cert(clusterCA) }

// NewHostCertificate returns a certificate for hosts, signed by the CA of SitesCA, and its key, both as
// PEM.
func (c *Cluster) NewHostCertificate(hosts ...string) (certificate, key []byte, err error) {
	pair, err := newLeaf(c.credentials.cluster, leaf{commonName: hosts[0], dns: hosts, server: true})
	if err != nil {
		return nil, nil, err
	}
	return pair.certPEM, pair.keyPEM, nil
}

// ThroughGateway directs all connections of a transport to the Gateway, and makes the
// transport trust the certificates of the hosts.
func (c *Cluster) ThroughGateway(transport *http.Transport) error {
	ca, err := os.ReadFile(c.SitesCA())
	if err != nil {
		return fmt.Errorf("reading the CA of hosts: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	transport.ForceAttemptHTTP2 = true
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, net.JoinHostPort(c.NodeAddress(), port))
	}
	return nil
}

// startGateway installs the CRDs of Gateway API, creates the Gateway, and starts its controller.
func (c *Cluster) startGateway(ctx context.Context, stage []spec) error {
	step := c.progress.step("Gateway API")
	l := c.plan.layout
	// The second wildcard is for previews of the example Website.
	names := []string{HostDomain, "*." + HostDomain, "*." + exampleName + "." + HostDomain}
	if err := makeLeaf(l, gatewayCertificate, c.credentials.cluster,
		leaf{commonName: HostDomain, dns: names, server: true}); err != nil {
		return step.failed(err)
	}
	var objects strings.Builder
	if err := gatewayObjects.Execute(&objects, map[string]string{"Namespace": GatewayNamespace, "Name": GatewayName,
		"Certificate": gatewayCertificate}); err != nil {
		return step.failed(fmt.Errorf("building the Gateway: %w", err))
	}
	secret, err := c.kubectl(ctx, "", "create", "secret", "tls", gatewayCertificate, "--namespace="+GatewayNamespace,
		"--cert="+l.cert(gatewayCertificate), "--key="+l.key(gatewayCertificate), "--dry-run=client", "--output=json")
	if err != nil {
		return step.failed(fmt.Errorf("building the Secret of the Gateway: %w", err))
	}
	apply := func(stdin, file string) error {
		_, err := c.kubectl(ctx, stdin, "apply", "--server-side", "--force-conflicts", "--field-manager="+fieldManager,
			"--filename="+file)
		return err
	}
	definitions := c.plan.programs[gatewayDefinitions]
	if err := apply("", definitions); err != nil {
		return step.failed(fmt.Errorf("installing the definitions of Gateway API: %w", err))
	}
	if _, err := c.kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=60s",
		"--filename="+definitions); err != nil {
		return step.failed(fmt.Errorf("installing the definitions of Gateway API: %w", err))
	}
	if err := c.forgetDiscovery(); err != nil {
		return step.failed(err)
	}
	if err := apply(objects.String()+"---\n"+secret, "-"); err != nil {
		return step.failed(fmt.Errorf("creating the Gateway: %w", err))
	}
	step.done("%s of %s, Gateway %s of namespace %s", filepath.Base(definitions), gatewayAPIModule, GatewayName,
		GatewayNamespace)
	return c.startStage(ctx, stage)
}
