package v1beta1

// WebsiteSource is the content to publish. Exactly one kind of source must be
// set; today there is only git, and more may be added.
type WebsiteSource struct {
	// git is a git repository.
	// +optional
	// +k8s:optional
	// +k8s:unionMember
	Git *GitSource `json:"git,omitempty" protobuf:"bytes,1,opt,name=git"`

	// path is the directory to publish, relative to the root of the source, of
	// at most 1024 bytes: segments of letters and digits of any script, spaces,
	// '.', '_' and '-', separated by '/'. No segment may be ".", ".." or ".git",
	// begin with '-', or begin or end with a space. Defaults to the root.
	// +optional
	// +k8s:optional
	// +k8s:maxBytes=1024
	Path string `json:"path,omitempty" protobuf:"bytes,2,opt,name=path"`
}

// GitSource is a git repository, and the content to fetch from it.
type GitSource struct {
	// repository is the address of the git repository: an https://, http:// or
	// ssh:// URL, or user@host:path, of at most 2048 characters. It must not
	// contain white space, control characters, '$', a query string or a
	// fragment, nor, in an http(s) URL, a user name or password. An ssh address
	// requires secretRef.
	// +required
	Repository string `json:"repository,omitempty" protobuf:"bytes,1,opt,name=repository"`

	// ref is the reference to publish: at most one of branch, tag, commit and
	// name. Defaults to the branch of the remote's HEAD.
	// +optional
	// +k8s:optional
	Ref *GitReference `json:"ref,omitempty" protobuf:"bytes,2,opt,name=ref"`

	// submodules selects the git submodules to fetch: None, Shallow (only the
	// repository's own) or Recursive (also submodules of submodules). Defaults
	// to None.
	// +optional
	// +default="None"
	// +k8s:optional
	Submodules SubmodulePolicy `json:"submodules,omitempty" protobuf:"bytes,3,opt,name=submodules,casttype=SubmodulePolicy"`

	// secretRef names the Secret with the credentials for the repository:
	// username and password for https://, ssh-privatekey and known_hosts for
	// ssh. It must not be set for http://. Setting it, or changing repository,
	// ref, submodules, credentialScope, caRef or the branches of previews while it
	// is set, requires get on the Secret, and so does a pin that is not in
	// status.history. Running pods use a changed Secret when the kubelet has updated
	// the volume, by default within 90 seconds.
	// +optional
	// +k8s:optional
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,4,opt,name=secretRef"`

	// credentialScope limits where the credentials of secretRef are sent:
	// Repository (to the path of repository only) or Host (to every repository
	// of its host or, over ssh, of the hosts in known_hosts). Submodules with
	// ssh credentials require Host, because an ssh key cannot be limited to one
	// repository. Defaults to Repository.
	// +optional
	// +default="Repository"
	// +k8s:optional
	CredentialScope CredentialScope `json:"credentialScope,omitempty" protobuf:"bytes,5,opt,name=credentialScope,casttype=CredentialScope"`

	// caRef names the bundle of CA certificates for an https:// repository whose
	// server has a certificate of a private CA. It must not be set for other
	// repositories. Setting or changing it requires get on the ConfigMap or
	// Secret. Defaults to the public CAs.
	// +optional
	// +k8s:optional
	CARef *CAReference `json:"caRef,omitempty" protobuf:"bytes,6,opt,name=caRef"`
}

// GitReference selects a commit of a repository. At most one of its fields may
// be set.
type GitReference struct {
	// branch is the branch to follow, without refs/heads/, of at most 255 bytes:
	// letters and digits of any script, '.', '_', '/', '@', '+', '#', '=' and '-',
	// within the rules of git check-ref-format.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:maxBytes=255
	Branch string `json:"branch,omitempty" protobuf:"bytes,1,opt,name=branch"`

	// tag is the tag to publish, without refs/tags/, of at most 255 bytes, with
	// the characters of a branch.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:maxBytes=255
	Tag string `json:"tag,omitempty" protobuf:"bytes,2,opt,name=tag"`

	// commit is the full name of the commit to publish: 40 or 64 hexadecimal
	// digits in lower case.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	Commit string `json:"commit,omitempty" protobuf:"bytes,3,opt,name=commit"`

	// name is the full name of a reference of any kind, such as
	// refs/pull/1/head, of at most 255 bytes, with the characters of a branch.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:maxBytes=255
	Name string `json:"name,omitempty" protobuf:"bytes,4,opt,name=name"`
}

// SubmodulePolicy selects the git submodules to fetch. More values may be added. A
// client that does not know a value must keep it, and must not take it for the
// default.
// +enum
// +k8s:enum
type SubmodulePolicy string

const (
	// SubmodulesNone fetches no submodules.
	SubmodulesNone SubmodulePolicy = "None"
	// SubmodulesShallow fetches the submodules of the repository itself.
	SubmodulesShallow SubmodulePolicy = "Shallow"
	// SubmodulesRecursive also fetches the submodules of submodules.
	SubmodulesRecursive SubmodulePolicy = "Recursive"
)

// CredentialScope limits where credentials are sent. More values may be added. A
// client that does not know a value must keep it, and must not take it for the
// default.
// +enum
// +k8s:enum
type CredentialScope string

const (
	// CredentialScopeRepository sends credentials to the path of the
	// repository only.
	CredentialScopeRepository CredentialScope = "Repository"
	// CredentialScopeHost sends credentials to every repository of the host.
	CredentialScopeHost CredentialScope = "Host"
)

// CAReference names a bundle of CA certificates in the namespace of the Website.
// Exactly one of configMapName and secretName must be set.
type CAReference struct {
	// configMapName is the name of a ConfigMap.
	// +optional
	// +k8s:optional
	// +k8s:unionMember
	// +k8s:format=k8s-long-name
	ConfigMapName string `json:"configMapName,omitempty" protobuf:"bytes,1,opt,name=configMapName"`

	// secretName is the name of a Secret.
	// +optional
	// +k8s:optional
	// +k8s:unionMember
	// +k8s:format=k8s-long-name
	SecretName string `json:"secretName,omitempty" protobuf:"bytes,2,opt,name=secretName"`

	// key is the key of the bundle, one or more certificates in PEM: at most 253
	// letters, digits, '.', '_' and '-'. Defaults to ca.crt.
	// +optional
	// +default="ca.crt"
	Key string `json:"key,omitempty" protobuf:"bytes,3,opt,name=key"`
}

// SecretReference names a Secret in the namespace of the Website.
type SecretReference struct {
	// name is the name of the Secret.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// WebsitePolling configures when the repository is fetched, in addition to requests to
// the subresource sync.
type WebsitePolling struct {
	// mode is Periodic (every pod fetches the repository every periodSeconds) or Never
	// (only when it starts, and to serve the same commit as the other pods). Never is
	// for a repository whose pushes request a sync; it does not hold a commit, as pin
	// and suspend do. Defaults to Periodic.
	// +optional
	// +default="Periodic"
	// +k8s:optional
	Mode PollingMode `json:"mode,omitempty" protobuf:"bytes,1,opt,name=mode,casttype=PollingMode"`

	// periodSeconds is the polling interval in seconds, from 10 to 86400. It has no
	// effect with the mode Never, and may be set, so that mode can be changed alone.
	// Defaults to 60.
	// +optional
	// +default=60
	// +k8s:optional
	// +k8s:minimum=10
	// +k8s:maximum=86400
	PeriodSeconds int32 `json:"periodSeconds,omitempty" protobuf:"varint,2,opt,name=periodSeconds"`

	// timeoutSeconds is the timeout of a fetch and of a checkout in seconds, requested or
	// not, from 10 to 3600. Defaults to 120.
	// +optional
	// +default=120
	// +k8s:optional
	// +k8s:minimum=10
	// +k8s:maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,3,opt,name=timeoutSeconds"`
}

// PollingMode selects when the repository is polled. More values may be added. A client
// that does not know a value must keep it, and must not take it for the default.
// +enum
// +k8s:enum
type PollingMode string

const (
	// PollingModePeriodic fetches the repository at the polling interval.
	PollingModePeriodic PollingMode = "Periodic"
	// PollingModeNever fetches the repository when a pod starts, and at requests.
	PollingModeNever PollingMode = "Never"
)

// WebsiteServing configures the web server. For a path it serves the file of
// that name, or else the file of that name with the extension .html, or else the
// index of that directory.
type WebsiteServing struct {
	// index is the name of the file served for a directory, of at most 255
	// letters, digits, '.', '_' and '-', not beginning with '-' or '.'.
	// Defaults to index.html.
	// +optional
	// +default="index.html"
	// +k8s:optional
	// +k8s:maxLength=255
	Index string `json:"index,omitempty" protobuf:"bytes,1,opt,name=index"`

	// notFoundPath is the page served with status 404: an absolute path in the
	// published directory, of at most 1024 characters. It consists of the same
	// characters as a redirect's from, except '?'. A 404.html in the nearest
	// directory above the missing file takes precedence. Defaults to /404.html.
	// +optional
	// +default="/404.html"
	// +k8s:optional
	// +k8s:maxLength=1024
	NotFoundPath string `json:"notFoundPath,omitempty" protobuf:"bytes,2,opt,name=notFoundPath"`

	// fallback is the response for a path that does not exist: None is the page
	// of notFoundPath, SPA is the index of the site with status 200 if a visitor
	// navigates there, for single-page applications. A missing script, style or
	// picture has status 404 with both. Defaults to None.
	// +optional
	// +default="None"
	// +k8s:optional
	Fallback FallbackPolicy `json:"fallback,omitempty" protobuf:"bytes,3,opt,name=fallback,casttype=FallbackPolicy"`

	// redirects redirect paths, before files are looked up. At most 2000, no two
	// from the same path, and at most 100 from a path that ends in "/*". A
	// redirect from the exact path takes precedence, then the one with the
	// longest prefix, in any order.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:maxItems=2000
	Redirects []Redirect `json:"redirects,omitempty" protobuf:"bytes,4,rep,name=redirects"`

	// headers are added to responses. At most 100, no two with the same path
	// and name.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +listMapKey=name
	// +k8s:optional
	// +k8s:maxItems=100
	Headers []ResponseHeader `json:"headers,omitempty" protobuf:"bytes,5,rep,name=headers"`

	// types set the Content-Type of files, by path or by extension. A path takes
	// precedence over an extension, and both over the type that the extension has
	// by default. At most 100, no two with the same path or extension.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:maxItems=100
	Types []ContentType `json:"types,omitempty" protobuf:"bytes,6,rep,name=types"`

	// charset is the charset parameter of the Content-Type of texts whose type in
	// types has none: the name of an encoding of the WHATWG Encoding Standard such
	// as UTF-8, ISO-8859-2, windows-1252 or Shift_JIS, also ISO-8859-1, or None for
	// no parameter, with which browsers use what pages declare in <meta>. JSON has
	// the parameter with UTF-8 only. Upper and lower case are the same. Defaults to
	// UTF-8.
	// +optional
	// +default="UTF-8"
	// +k8s:optional
	// +k8s:maxLength=32
	Charset string `json:"charset,omitempty" protobuf:"bytes,7,opt,name=charset"`
}

// CharsetNone is the charset of a site whose texts have no charset parameter.
const CharsetNone = "None"

// ContentType is the Content-Type of files. Exactly one of path and extension
// must be set.
type ContentType struct {
	// path is the URL path of a file in the syntax of a redirect's from: it matches
	// exactly, unless it ends in "/*". It is compared with the requested path. The
	// exact path takes precedence, then the longest prefix. An index, and a page
	// that is requested without its extension, keep the type of their extension. At
	// most 1024 characters.
	// +optional
	// +k8s:optional
	// +k8s:unionMember
	// +k8s:maxLength=1024
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`

	// extension is the part of the name after the last dot: at most 64 letters,
	// digits, '_', '+' and '-'. Upper and lower case are the same.
	// +optional
	// +k8s:optional
	// +k8s:unionMember
	// +k8s:maxLength=64
	Extension string `json:"extension,omitempty" protobuf:"bytes,2,opt,name=extension"`

	// type is the media type, such as application/json, with an optional charset
	// parameter: "text/plain; charset=ISO-8859-1". At most 255 characters.
	// +required
	// +k8s:required
	// +k8s:maxLength=255
	Type string `json:"type" protobuf:"bytes,3,opt,name=type"`
}

// FallbackPolicy is the response for a path that does not exist. More values may
// be added. A client that does not know a value must keep it, and must not take it
// for the default.
// +enum
// +k8s:enum
type FallbackPolicy string

const (
	// FallbackNone responds with status 404.
	FallbackNone FallbackPolicy = "None"
	// FallbackSPA serves the index of the site with status 200 to navigations.
	FallbackSPA FallbackPolicy = "SPA"
)

// Redirect redirects a path.
type Redirect struct {
	// from is the path to redirect, without a query string. It must begin with
	// '/' and match the requested path exactly: a redirect from /index.html does
	// not apply to /. If it ends in "/*", it matches all paths with the prefix
	// before '*', but /blog/* does not match /blog. '*' elsewhere and
	// placeholders such as :year are not supported. It consists of printable
	// characters and spaces, as they are or percent-encoded as UTF-8, which is
	// the same; '"', '$' and '\' are not supported, and '%', '?' and '#' must be
	// encoded. At most 1024 characters, and 1024 bytes decoded.
	// +required
	// +k8s:required
	// +k8s:maxLength=1024
	From string `json:"from" protobuf:"bytes,1,opt,name=from"`

	// to is the target: an absolute path of the site, or an https:// or http://
	// URL. In the path, query string or fragment, :splat stands for the part of
	// the requested path that '*' matched. The query string of the request is
	// added, unless the target has its own. At most 2048 characters.
	// +required
	// +k8s:required
	// +k8s:maxLength=2048
	To string `json:"to" protobuf:"bytes,2,opt,name=to"`

	// statusCode is the HTTP status code: 301, 302, 303, 307 or 308. Defaults to
	// 301.
	// +optional
	// +default=301
	StatusCode int32 `json:"statusCode,omitempty" protobuf:"varint,3,opt,name=statusCode"`
}

// ResponseHeader is a header added to responses.
type ResponseHeader struct {
	// path is a URL path in the syntax of a redirect's from: it matches exactly,
	// unless it ends in "/*". It is compared with the requested path or, for
	// Cache-Control, CDN-Cache-Control, Expires and Surrogate-Control, with the
	// path of the served file, such as /index.html. The exact path takes
	// precedence, then the longest prefix; "/*" is for all paths. At most 1024
	// characters.
	// +required
	// +k8s:required
	// +k8s:maxLength=1024
	Path string `json:"path" protobuf:"bytes,1,opt,name=path"`

	// name is the name of the header: at most 128 letters, digits and '-'.
	// Connection headers and headers that the web server sets are rejected.
	// +required
	// +k8s:required
	// +k8s:maxLength=128
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`

	// value is the value of the header: at most 4096 printable ASCII characters
	// except '$' and '\'.
	// +required
	// +k8s:required
	// +k8s:maxLength=4096
	Value string `json:"value" protobuf:"bytes,3,opt,name=value"`
}
