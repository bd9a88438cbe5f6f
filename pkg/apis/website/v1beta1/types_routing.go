package v1beta1

// WebsiteRouting selects the Gateways or the Ingress that route requests for the
// hosts to the site: at most one of parentRefs and ingressClassName.
type WebsiteRouting struct {
	// parentRefs are the Gateways (gateway.networking.k8s.io/v1) that route the hosts, from
	// 1 to 8. Each must allow routes, and with the tls.mode Secret or Issuer also
	// ListenerSets, from the namespace of the Website. Defaults to --default-gateway of
	// website-controller.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:maxItems=8
	ParentRefs []ParentReference `json:"parentRefs,omitempty" protobuf:"bytes,1,rep,name=parentRefs"`

	// ingressClassName is the IngressClass of the Ingress that routes the hosts.
	// Defaults to --default-ingress-class of website-controller, if no parentRefs are
	// set and the cluster has no Gateway API or no default Gateway.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:format=k8s-long-name
	IngressClassName string `json:"ingressClassName,omitempty" protobuf:"bytes,2,opt,name=ingressClassName"`
}

// ParentReference names a Gateway, or one of its listeners.
type ParentReference struct {
	// namespace is the namespace of the Gateway. Defaults to the Website's own.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-short-name
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`

	// name is the name of the Gateway.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`

	// sectionName is the listener of the Gateway that routes the hosts. It must not be set
	// with the tls.mode Secret or Issuer, whose certificates belong to listeners of the
	// Website. Defaults to all listeners.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	SectionName string `json:"sectionName,omitempty" protobuf:"bytes,3,opt,name=sectionName"`
}

// WebsiteTLS selects the certificate of the hosts: a union with the
// discriminator mode.
type WebsiteTLS struct {
	// mode is the source of the hosts' certificate: Listener (the Gateway's own
	// listeners, or the default certificate of the Ingress controller), Secret
	// (secretRef) or Issuer (issuerRef). The hosts are then served with TLS only. Secret
	// and Issuer need a Gateway that allows ListenerSets; at others the hosts are served
	// with the certificates of their listeners, and the condition Routed reports that the
	// certificate is not used.
	// +required
	// +k8s:required
	// +k8s:unionDiscriminator
	Mode TLSMode `json:"mode" protobuf:"bytes,1,opt,name=mode,casttype=TLSMode"`

	// secretRef names the Secret of type kubernetes.io/tls with the certificate of
	// all hosts. It must be set if and only if mode is Secret. Setting it, or changing
	// hosts, routing or the domain of previews while it is set, requires get on the Secret.
	// +optional
	// +k8s:optional
	// +k8s:unionMember(memberName: "Secret")
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,2,opt,name=secretRef"`

	// issuerRef names the issuer that cert-manager uses to issue a certificate for each
	// host. It must be set if and only if mode is Issuer.
	// +optional
	// +k8s:optional
	// +k8s:unionMember(memberName: "Issuer")
	IssuerRef *IssuerReference `json:"issuerRef,omitempty" protobuf:"bytes,3,opt,name=issuerRef"`

	// redirect makes a Gateway redirect HTTP requests to https, with the status code 301.
	// With false, HTTP requests are served as well, for a proxy in front that ends TLS:
	// pages and passwords are then sent unencrypted. An Ingress cannot express either: its
	// controller decides. Defaults to true.
	// +optional
	// +default=true
	// +k8s:optional
	Redirect *bool `json:"redirect,omitempty" protobuf:"varint,4,opt,name=redirect"`
}

// TLSMode is the source of the hosts' certificate. More values may be added. A
// client that does not know a value must keep it.
// +enum
// +k8s:enum
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
	// group is the API group of the issuer. Defaults to cert-manager.io.
	// +optional
	// +default="cert-manager.io"
	// +k8s:optional
	// +k8s:format=k8s-long-name
	Group string `json:"group,omitempty" protobuf:"bytes,1,opt,name=group"`

	// kind is the kind of the issuer, of at most 63 characters: in the group
	// cert-manager.io, Issuer (of the namespace of the Website) or ClusterIssuer. Defaults
	// to Issuer.
	// +optional
	// +default="Issuer"
	// +k8s:optional
	// +k8s:maxLength=63
	Kind string `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind"`

	// name is the name of the issuer.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name" protobuf:"bytes,3,opt,name=name"`
}

// Values of IssuerReference in the group of cert-manager.
const (
	CertManagerGroup    = "cert-manager.io"
	KindOfIssuer        = "Issuer"
	KindOfClusterIssuer = "ClusterIssuer"
)
