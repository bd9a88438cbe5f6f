package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebsiteRouting selects what routes requests for the hosts to the site: at most
// one of gateway and ingressClassName.
type WebsiteRouting struct {
	// gateway is the Gateway (gateway.networking.k8s.io/v1) that routes the hosts.
	// It must allow routes, and with tls also ListenerSets, from the namespace of
	// the Website. Defaults to --default-gateway of website-controller.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	Gateway *GatewayReference `json:"gateway,omitempty" protobuf:"bytes,1,opt,name=gateway"`

	// ingressClassName is the IngressClass of the Ingress that routes the hosts.
	// Defaults to --default-ingress-class of website-controller, if no gateway is
	// set and the cluster has no Gateway API or no default Gateway.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:format=k8s-long-name
	IngressClassName string `json:"ingressClassName,omitempty" protobuf:"bytes,2,opt,name=ingressClassName"`
}

// GatewayReference names a Gateway.
type GatewayReference struct {
	// name is the name of the Gateway.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// namespace is the namespace of the Gateway. Defaults to that of the Website.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-short-name
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`

	// sectionName is the listener of the Gateway that routes the hosts. It must
	// not be set together with tls, whose certificates are those of listeners of
	// the Website. Defaults to all listeners.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	SectionName string `json:"sectionName,omitempty" protobuf:"bytes,3,opt,name=sectionName"`
}

// WebsiteTLS selects the certificate of the hosts: at most one of secretRef and
// issuerRef. With either, a Gateway redirects requests by http to https; what an
// Ingress does with these is up to its controller.
type WebsiteTLS struct {
	// secretRef names the Secret of type kubernetes.io/tls with the certificate of
	// all hosts. Setting it, or changing hosts, routing or the domain of previews
	// while it is set, requires get on the Secret. Defaults to none.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,1,opt,name=secretRef"`

	// issuerRef names the issuer of cert-manager that issues a certificate for each
	// host. Defaults to none.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	IssuerRef *IssuerReference `json:"issuerRef,omitempty" protobuf:"bytes,2,opt,name=issuerRef"`
}

// IssuerReference names an issuer of cert-manager.
type IssuerReference struct {
	// name is the name of the issuer.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// kind is the kind of the issuer: Issuer (of the namespace of the Website) or
	// ClusterIssuer. Defaults to Issuer.
	// +optional
	// +default="Issuer"
	// +k8s:optional
	Kind IssuerKind `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind,casttype=IssuerKind"`
}

// IssuerKind is the kind of an issuer of cert-manager.
// +enum
// +k8s:enum
type IssuerKind string

const (
	// IssuerKindIssuer is an issuer of the namespace of the Website.
	IssuerKindIssuer IssuerKind = "Issuer"
	// IssuerKindClusterIssuer is an issuer of the cluster.
	IssuerKindClusterIssuer IssuerKind = "ClusterIssuer"
)

// WebsiteHostStatus is what was observed of a host.
type WebsiteHostStatus struct {
	// name is the host.
	// +required
	// +k8s:required
	// +k8s:maxLength=253
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// routed is true if the last request for the host, at the address of its
	// Gateway or Ingress, returned a published commit of the site or, if the host
	// is redirected, the redirect. It is false for a host with a wildcard, for
	// which no request is made.
	// +optional
	Routed bool `json:"routed,omitempty" protobuf:"varint,2,opt,name=routed"`

	// certificateExpirationTime is when the certificate expires that the last TLS
	// handshake for the host presented.
	// +optional
	// +k8s:opaqueType
	CertificateExpirationTime *metav1.Time `json:"certificateExpirationTime,omitempty" protobuf:"bytes,3,opt,name=certificateExpirationTime"`

	// message is why the host is not routed, of at most 1024 characters.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
}
