package website

// WebsiteAccess restricts who may read the site.
type WebsiteAccess struct {
	// BasicAuthRef names the Secret with the users who may; nil for everyone.
	BasicAuthRef *SecretReference
}
