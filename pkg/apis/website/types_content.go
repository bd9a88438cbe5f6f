package website

// WebsiteSource is the content to publish. Exactly one kind of source is set.
type WebsiteSource struct {
	// Git is a git repository.
	Git *GitSource
	// Path is the directory to publish; empty is the root.
	Path string
}

// GitSource is a git repository, and the content to fetch from it.
type GitSource struct {
	// Repository is the address of the git repository.
	Repository string
	// Ref is the reference to publish; nil follows the remote's HEAD.
	Ref *GitReference
	// Submodules is the submodule policy.
	Submodules SubmodulePolicy
	// SecretRef names the Secret with the credentials for the repository.
	SecretRef *SecretReference
	// CredentialScope limits the repositories to which submodule fetches send
	// these credentials.
	CredentialScope CredentialScope
	// CARef names the CA certificates of the git server; nil trusts the public CAs.
	CARef *CAReference
}

// GitReference selects a commit of a repository. At most one field is set.
type GitReference struct {
	// Branch is a branch to follow, without refs/heads/.
	Branch string
	// Tag is a tag, without refs/tags/.
	Tag string
	// Commit is the full name of a commit.
	Commit string
	// Name is the full name of a reference of any kind.
	Name string
}

// SubmodulePolicy selects the git submodules to fetch.
type SubmodulePolicy string

const (
	// SubmodulesNone fetches no submodules.
	SubmodulesNone SubmodulePolicy = "None"
	// SubmodulesShallow fetches the submodules of the repository itself.
	SubmodulesShallow SubmodulePolicy = "Shallow"
	// SubmodulesRecursive also fetches the submodules of submodules.
	SubmodulesRecursive SubmodulePolicy = "Recursive"
)

// CredentialScope limits where credentials are sent.
type CredentialScope string

const (
	// CredentialScopeRepository sends credentials to the path of the
	// repository only.
	CredentialScopeRepository CredentialScope = "Repository"
	// CredentialScopeHost sends credentials to every repository of the host.
	CredentialScopeHost CredentialScope = "Host"
)

// CAReference names a bundle of CA certificates in the namespace of the Website.
// Exactly one of ConfigMapName and SecretName is set.
type CAReference struct {
	// ConfigMapName is the name of a ConfigMap.
	ConfigMapName string
	// SecretName is the name of a Secret.
	SecretName string
	// Key is the key of the bundle in PEM.
	Key string
}

// SecretReference names a Secret in the namespace of the Website.
type SecretReference struct {
	// Name is the name of the Secret.
	Name string
}

// WebsitePolling configures when the repository is fetched.
type WebsitePolling struct {
	// Mode is when the repository is polled.
	Mode PollingMode
	// PeriodSeconds is the polling interval of the mode Periodic.
	PeriodSeconds int32
	// TimeoutSeconds is the timeout of a fetch.
	TimeoutSeconds int32
}

// PollingMode is when the repository is polled.
type PollingMode string

const (
	// PollingModePeriodic fetches the repository at the polling interval.
	PollingModePeriodic PollingMode = "Periodic"
	// PollingModeNever fetches the repository when a pod starts, and at requests.
	PollingModeNever PollingMode = "Never"
)

// WebsiteServing configures the web server.
type WebsiteServing struct {
	// Index is the file served for a directory.
	Index string
	// NotFoundPath is the page for status 404.
	NotFoundPath string
	// Fallback is the response for a path that does not exist.
	Fallback FallbackPolicy
	// Redirects redirect paths.
	Redirects []Redirect
	// Headers are added to responses.
	Headers []ResponseHeader
	// Types set the Content-Type of files.
	Types []ContentType
	// Charset is the charset parameter of texts.
	Charset string
}

// CharsetNone is the charset of a site whose texts have no charset parameter.
const CharsetNone = "None"

// ContentType is the Content-Type of files. Exactly one of Path and Extension is
// set.
type ContentType struct {
	// Path is a URL path, or a prefix that ends in "/*".
	Path string
	// Extension is the part of the name after the last dot.
	Extension string
	// Type is the media type.
	Type string
}

// FallbackPolicy is the response for a path that does not exist.
type FallbackPolicy string

const (
	// FallbackNone responds with status 404.
	FallbackNone FallbackPolicy = "None"
	// FallbackSPA serves the index of the site with status 200.
	FallbackSPA FallbackPolicy = "SPA"
)

// Redirect redirects a path.
type Redirect struct {
	// From is the path to redirect.
	From string
	// To is an absolute path or an http(s) URL.
	To string
	// StatusCode is the HTTP status code.
	StatusCode int32
}

// ResponseHeader is a header added to responses.
type ResponseHeader struct {
	// Path is a URL path, or a prefix that ends in "/*".
	Path string
	// Name is the name of the header.
	Name string
	// Value is the value of the header.
	Value string
}
