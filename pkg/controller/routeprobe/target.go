package routeprobe

import (
	"slices"
	"time"
)

// Target is what is requested for a Website.
type Target struct {
	// Addresses are those of the Gateway or Ingress: IP addresses or names.
	Addresses []string
	// Hosts are requested one after the other.
	Hosts []Host
}

// equal reports whether two targets have the same requests.
func (t Target) equal(other Target) bool {
	return slices.Equal(t.Addresses, other.Addresses) &&
		slices.EqualFunc(t.Hosts, other.Hosts, func(a, b Host) bool {
			return a.Name == b.Name && a.RedirectedTo == b.RedirectedTo && slices.Equal(a.Endpoints, b.Endpoints)
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
	// Endpoints are tried in this order until one serves the host.
	Endpoints []Endpoint
	// RedirectedTo is the host to which requests are to be redirected; empty for none.
	RedirectedTo string
}

// Endpoint is a port of the Gateway.
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
	// CertificateExpiration is when the presented certificate expires; zero without one.
	CertificateExpiration time.Time
	// InvalidCertificate is true if Failure is about the certificate.
	InvalidCertificate bool
	// Failure is why the host was not found; empty if it was.
	Failure string
	// DNS is why the name of the host does not lead to the address; empty if it does.
	DNS string
}
