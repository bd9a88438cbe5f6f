package v1beta1

// WebsiteAccess restricts the visitors of a site.
type WebsiteAccess struct {
	// basicAuth requires visitors to send the name and password of a user (RFC 7617).
	// Defaults to none: everyone may read the site.
	// +optional
	// +k8s:optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty" protobuf:"bytes,1,opt,name=basicAuth"`
}

// BasicAuth admits the users of a Secret.
type BasicAuth struct {
	// secretRef names the Secret with the users of the site: of type
	// kubernetes.io/basic-auth, with the keys username and password, or with the key
	// htpasswd, whose lines are in the format of htpasswd. Its changes take effect
	// without new pods. While the Secret is missing or invalid, every request is
	// rejected. Setting it requires get on the Secret.
	// +required
	SecretRef SecretReference `json:"secretRef" protobuf:"bytes,1,opt,name=secretRef"`
}
