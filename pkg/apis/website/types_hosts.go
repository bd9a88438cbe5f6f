package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteHost is a host of the site.
type WebsiteHost struct {
	// Name is the host.
	Name string
	// Role is what visitors of the host get.
	Role HostRole
}

// HostRole is what visitors of a host get.
type HostRole string

const (
	// HostRoleAlias serves the site.
	HostRoleAlias HostRole = "Alias"
	// HostRoleCanonical serves the site, and is where other hosts are redirected to.
	HostRoleCanonical HostRole = "Canonical"
	// HostRoleRedirect redirects to the canonical host.
	HostRoleRedirect HostRole = "Redirect"
)

// HostNames returns the names of the hosts.
func (s *WebsiteSpec) HostNames() []string {
	names := make([]string, 0, len(s.Hosts))
	for i := range s.Hosts {
		names = append(names, s.Hosts[i].Name)
	}
	return names
}

// WebsiteHostStatus is what was observed of a host.
type WebsiteHostStatus struct {
	// Name is the host.
	Name string
	// Conditions are those of the host.
	Conditions []metav1.Condition
	// CertificateExpirationTime is when the served certificate expires; nil without one.
	CertificateExpirationTime *metav1.Time
}
