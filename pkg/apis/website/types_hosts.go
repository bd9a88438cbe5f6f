package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteRouting selects what routes requests for the hosts to the site.
type WebsiteRouting struct {
	// Gateway is a Gateway of Gateway API; nil for the default of the cluster.
	Gateway *GatewayReference
	// IngressClassName is the class of the Ingress; empty for the default of the cluster.
	IngressClassName string
}

// GatewayReference names a Gateway.
type GatewayReference struct {
	// Name is the name of the Gateway.
	Name string
	// Namespace is that of the Gateway; empty for that of the Website.
	Namespace string
	// SectionName is the listener of the Gateway; empty for all.
	SectionName string
}

// WebsiteTLS selects the certificate of the hosts. Without a member, the Gateway has it
// or there is none.
type WebsiteTLS struct {
	// SecretRef names the Secret with the certificate of all hosts.
	SecretRef *SecretReference
	// IssuerRef names the issuer of cert-manager that issues the certificates.
	IssuerRef *IssuerReference
}

// IssuerReference names an issuer of cert-manager.
type IssuerReference struct {
	// Name is the name of the issuer.
	Name string
	// Kind is the kind of the issuer.
	Kind IssuerKind
}

// IssuerKind is the kind of an issuer of cert-manager.
type IssuerKind string

const (
	// IssuerKindIssuer is an issuer of the namespace of the Website.
	IssuerKindIssuer IssuerKind = "Issuer"
	// IssuerKindClusterIssuer is an issuer of the cluster.
	IssuerKindClusterIssuer IssuerKind = "ClusterIssuer"
)

// WebsiteHostStatus is what was observed of a host.
type WebsiteHostStatus struct {
	// Name is the host.
	Name string
	// Routed is whether a request for the host returned the site.
	Routed bool
	// CertificateExpirationTime is when the served certificate expires; nil without one.
	CertificateExpirationTime *metav1.Time
	// Message is why the host is not routed.
	Message string
}
