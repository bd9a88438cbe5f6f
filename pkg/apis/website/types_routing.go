package website

// WebsiteRouting selects the Gateways or the Ingress that route requests for the hosts to the site.
type WebsiteRouting struct {
	// ParentRefs are Gateways of Gateway API; empty for the default of the cluster.
	ParentRefs []ParentReference
	// IngressClassName is the class of the Ingress; empty for the default of the cluster.
	IngressClassName string
}

// ParentReference names a Gateway, or one of its listeners.
type ParentReference struct {
	// Namespace is the namespace of the Gateway; empty for the Website's own.
	Namespace string
	// Name is the name of the Gateway.
	Name string
	// SectionName is the listener of the Gateway; empty for all.
	SectionName string
}

// WebsiteTLS selects the certificate of the hosts.
type WebsiteTLS struct {
	// Mode is the source of the certificate.
	Mode TLSMode
	// SecretRef names the Secret with the certificate of all hosts.
	SecretRef *SecretReference
	// IssuerRef names the issuer that issues the certificates.
	IssuerRef *IssuerReference
	// Redirect redirects HTTP requests to HTTPS. The versions default it.
	Redirect *bool
}

// TLSMode is the source of the hosts' certificate.
type TLSMode string

const (
	// TLSModeListener uses the certificates of the Gateway's own listeners, or the default
	// certificate of the Ingress controller.
	TLSModeListener TLSMode = "Listener"
	// TLSModeSecret uses the certificate in a Secret.
	TLSModeSecret TLSMode = "Secret"
	// TLSModeIssuer uses certificates that cert-manager issues.
	TLSModeIssuer TLSMode = "Issuer"
)

// IssuerReference names an issuer of cert-manager, or an external issuer for it.
type IssuerReference struct {
	// Group is the API group of the issuer.
	Group string
	// Kind is the kind of the issuer.
	Kind string
	// Name is the name of the issuer.
	Name string
}
