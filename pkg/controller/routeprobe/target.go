package routeprobe

import (
	"slices"
	"time"
)

// Target has the requests for a Website.
type Target struct {
	// Hosts are requested one after the other.
	Hosts []Host
}

// equal reports whether two targets have the same requests.
func (t Target) equal(other Target) bool {
	return slices.EqualFunc(t.Hosts, other.Hosts, func(a, b Host) bool {
		return a.Name == b.Name && a.RedirectedTo == b.RedirectedTo && slices.EqualFunc(a.Gateways, b.Gateways, Gateway.equal)
	})
}

// lacks reports whether one of hosts is not in a target.
func (t Target) lacks(hosts []Host) bool {
	return slices.ContainsFunc(hosts, func(host Host) bool {
		return !slices.ContainsFunc(t.Hosts, func(other Host) bool { return other.Name == host.Name })
	})
}

// Host is a host of a Website.
type Host struct {
	// Name of the host, without a wildcard.
	Name string
	// Gateways serve the host: all of them must.
	Gateways []Gateway
	// RedirectedTo is the host to which requests are to be redirected; empty for none.
	RedirectedTo string
}

// addresses returns the addresses of all Gateways.
func (h Host) addresses() []string {
	var all []string
	for _, gateway := range h.Gateways {
		all = append(all, gateway.Addresses...)
	}
	return all
}

// Gateway is a Gateway or an Ingress.
type Gateway struct {
	// Name identifies one of several in messages; empty for the only one.
	Name string
	// Addresses are IP addresses or names.
	Addresses []string
	// Endpoints are tried in this order until one serves the host.
	Endpoints []Endpoint
}

func (g Gateway) equal(other Gateway) bool {
	return g.Name == other.Name && slices.Equal(g.Addresses, other.Addresses) && slices.Equal(g.Endpoints, other.Endpoints)
}

// Endpoint is a port of a Gateway.
type Endpoint struct {
	TLS  bool
	Port int32
}

// Result is the observed state of a host.
type Result struct {
	// URL is the URL at which the host was found; empty if it was not.
	URL string
	// Commit is the commit in the response; empty for a redirect.
	Commit string
	// CertificateExpiration is the expiry of the presented certificate, or the earliest of several;
	// zero without one.
	CertificateExpiration time.Time
	// InvalidCertificate is true if Failure is about the certificate.
	InvalidCertificate bool
	// Failure is the reason why the host was not found; empty if it was.
	Failure string
	// DNS is the reason why the name of the host does not resolve to the address; empty if it does.
	DNS string
}
