package routeprobe

import (
	"slices"
	"time"
)

// Target is what is requested for a Website.
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
		return !slices.ContainsFunc(t.Hosts, func(known Host) bool { return known.Name == host.Name })
	})
}

// Host is a host of a Website.
type Host struct {
	// Name of the host, without a wildcard.
	Name string
	// Gateways are where it is requested: all of them must serve it.
	Gateways []Gateway
	// RedirectedTo is the host to which requests are to be redirected; empty for none.
	RedirectedTo string
}

// addresses returns those of all Gateways.
func (h Host) addresses() []string {
	var all []string
	for _, gateway := range h.Gateways {
		all = append(all, gateway.Addresses...)
	}
	return all
}

// Gateway is a Gateway or an Ingress.
type Gateway struct {
	// Name is how messages name one of several; empty for the only one.
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

// Result is what was observed of a host.
type Result struct {
	// URL is where the host was found; empty if it was not.
	URL string
	// Commit is the one that the response names; empty for a redirect.
	Commit string
	// CertificateExpiration is when the presented certificate expires, of several the first; zero without one.
	CertificateExpiration time.Time
	// InvalidCertificate is true if Failure is about the certificate.
	InvalidCertificate bool
	// Failure is why the host was not found; empty if it was.
	Failure string
	// DNS is why the name of the host does not lead to the address; empty if it does.
	DNS string
}
