package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteHost is a host of the site.
type WebsiteHost struct {
	// name is the host: a DNS name in lower case with at least one dot, of at most 230
	// characters. The first label may be "*", for all names below that no Website names.
	// +required
	// +k8s:required
	// +k8s:maxLength=230
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// role is the response to visitors of the host: the site (Alias and Canonical), or a
	// redirect to the canonical host with the status code 301 (Redirect). At most one
	// host is Canonical; it must have no wildcard, and Redirect requires it. The roles do
	// not depend on the order of the list, which others may change. An Ingress cannot
	// redirect: the condition Routed reports it. Defaults to Alias.
	// +optional
	// +default="Alias"
	// +k8s:optional
	Role HostRole `json:"role,omitempty" protobuf:"bytes,2,opt,name=role,casttype=HostRole"`
}

// HostRole is the response to visitors of a host. More values may be added. A client
// that does not know a value must keep it, and must not take it for the default.
// +enum
// +k8s:enum
type HostRole string

const (
	// HostRoleAlias serves the site.
	HostRoleAlias HostRole = "Alias"
	// HostRoleCanonical serves the site, and is the target of redirects from other hosts.
	HostRoleCanonical HostRole = "Canonical"
	// HostRoleRedirect redirects to the canonical host.
	HostRoleRedirect HostRole = "Redirect"
)

// WebsiteHostStatus is the observed state of a host.
type WebsiteHostStatus struct {
	// name is the host.
	// +required
	// +k8s:required
	// +k8s:maxLength=253
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// conditions are the conditions of the host, at most 8. Routed is True if the last
	// requests for the host, at the address of each Gateway or of the Ingress, returned a
	// published commit of the site or, with the role Redirect, the redirect. It is False
	// if they did not, or if the host cannot be routed, and Unknown as long as no request
	// was made, as for a host with a wildcard.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:maxItems=8
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,2,rep,name=conditions"`

	// certificateExpirationTime is the expiration time of the certificate that
	// the last TLS handshake for the host presented: of several Gateways, the
	// earliest time.
	// +optional
	// +k8s:opaqueType
	CertificateExpirationTime *metav1.Time `json:"certificateExpirationTime,omitempty" protobuf:"bytes,3,opt,name=certificateExpirationTime"`
}

// HostRouted is the condition of a host that is True when requests for it reach the site.
const HostRouted = "Routed"

// HostNames returns the names of the hosts.
func (s *WebsiteSpec) HostNames() []string {
	names := make([]string, 0, len(s.Hosts))
	for i := range s.Hosts {
		names = append(names, s.Hosts[i].Name)
	}
	return names
}
