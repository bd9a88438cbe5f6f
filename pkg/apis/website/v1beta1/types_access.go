package v1beta1

// WebsiteAccess restricts who may read the site.
type WebsiteAccess struct {
	// basicAuthRef names the Secret with the users who may read the site: of type
	// kubernetes.io/basic-auth, with the keys username and password, or with the
	// key htpasswd, whose lines are in the format of htpasswd. Its changes take effect
	// without new pods. While the Secret is missing or invalid, every request is
	// rejected. Setting it requires get on the Secret. Defaults to none: everyone
	// may read the site.
	// +optional
	// +k8s:optional
	BasicAuthRef *SecretReference `json:"basicAuthRef,omitempty" protobuf:"bytes,1,opt,name=basicAuthRef"`
}
