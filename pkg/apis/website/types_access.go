package website

// WebsiteAccess restricts the visitors of a site.
type WebsiteAccess struct {
	// BasicAuth admits the users of a Secret; nil for everyone.
	BasicAuth *BasicAuth
}

// BasicAuth admits the users of a Secret.
type BasicAuth struct {
	// SecretRef names the Secret.
	SecretRef SecretReference
}
