package website

// WebsiteSource says what is published.
type WebsiteSource struct {
	// Repository is the git repository whose files are served.
	Repository string
	// Ref is what to publish of it; nil follows the remote's HEAD.
	Ref *GitReference
	// Path is the directory to publish; empty is the root.
	Path string
	// Submodules says whether git submodules are fetched.
	Submodules SubmodulePolicy
	// SecretRef names the Secret with the credentials for the repository.
	SecretRef *SecretReference
	// CredentialScope says where these credentials may be used when submodules
	// are fetched.
	CredentialScope CredentialScope
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

// SubmodulePolicy says whether git submodules are fetched.
type SubmodulePolicy string

const (
	// SubmodulesOff fetches no submodules.
	SubmodulesOff SubmodulePolicy = "Off"
	// SubmodulesShallow fetches the submodules of the repository itself.
	SubmodulesShallow SubmodulePolicy = "Shallow"
	// SubmodulesRecursive fetches submodules of submodules as well.
	SubmodulesRecursive SubmodulePolicy = "Recursive"
)

// CredentialScope says where credentials may be used.
type CredentialScope string

const (
	// CredentialScopeRepository sends credentials to the path of the
	// repository only.
	CredentialScopeRepository CredentialScope = "Repository"
	// CredentialScopeHost sends credentials to every repository of the host.
	CredentialScopeHost CredentialScope = "Host"
)

// SecretReference names a Secret in the namespace of the Website.
type SecretReference struct {
	// Name of the Secret.
	Name string
}

// WebsiteSync says how the pods follow the source.
type WebsiteSync struct {
	// PeriodSeconds is the time between two looks at the repository.
	PeriodSeconds int32
	// TimeoutSeconds is the time after which a fetch is given up.
	TimeoutSeconds int32
}

// WebsiteServing says how the files are served.
type WebsiteServing struct {
	// Index is the file that is served for a directory.
	Index string
	// NotFoundPath is the page that is served for what does not exist.
	NotFoundPath string
	// Fallback says what is served for a path that does not exist.
	Fallback FallbackPolicy
	// Redirects send requests for one path to another address.
	Redirects []Redirect
	// Headers are added to responses.
	Headers []ResponseHeader
}

// FallbackPolicy says what is served for a path that does not exist.
type FallbackPolicy string

const (
	// FallbackNone answers with status 404.
	FallbackNone FallbackPolicy = "None"
	// FallbackSPA serves the index of the site.
	FallbackSPA FallbackPolicy = "SPA"
)

// Redirect sends requests for one path to another address.
type Redirect struct {
	// From is the path that is redirected.
	From string
	// To is an absolute path or an http(s) URL.
	To string
	// Code is the HTTP status.
	Code int32
}

// ResponseHeader is a header that is added to responses.
type ResponseHeader struct {
	// Path is the beginning of the paths for which the header is sent.
	Path string
	// Name of the header.
	Name string
	// Value of the header.
	Value string
}
