package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteHost is a host of the site.
type WebsiteHost struct {
	// Name is the host.
	Name string
	// Role is the response to visitors of the host.
	Role HostRole
}

// HostRole is the response to visitors of a host.
type HostRole string

const (
	// HostRoleAlias serves the site.
	HostRoleAlias HostRole = "Alias"
	// HostRoleCanonical serves the site, and is the target of redirects from other hosts.
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

// WebsiteHostStatus is the observed state of a host.
type WebsiteHostStatus struct {
	// Name is the host.
	Name string
	// Conditions are the conditions of the host.
	Conditions []metav1.Condition
	// CertificateExpirationTime is the expiration time of the served certificate; nil without one.
	CertificateExpirationTime *metav1.Time
}
