package v1beta1

// WebsiteSource says what is published.
type WebsiteSource struct {
	// repository is the git repository to publish: an https://, http:// or
	// ssh:// URL, or user@host:path. At most 2048 characters, without white
	// space, control characters, '$', a query string or a fragment, and
	// without a user name or password in an http(s) URL: credentials belong in
	// the Secret of secretRef. A repository over ssh requires secretRef.
	// +required
	Repository string `json:"repository" protobuf:"bytes,1,opt,name=repository"`

	// ref is what to publish of the repository: at most one of branch, tag,
	// commit and name. Without it the branch that the remote's HEAD names is
	// followed.
	// +optional
	// +k8s:optional
	Ref *GitReference `json:"ref,omitempty" protobuf:"bytes,2,opt,name=ref"`

	// path is the directory of the repository to publish, relative to its
	// root: segments of letters, digits, '.', '_' and '-', separated by '/'.
	// No segment may be "..", ".git" or begin with '-'. Defaults to the root.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	Path string `json:"path,omitempty" protobuf:"bytes,3,opt,name=path"`

	// submodules says whether git submodules are fetched: Off, Shallow (those
	// of the repository itself) or Recursive (theirs as well). Defaults to
	// Off.
	// +optional
	// +default="Off"
	// +k8s:optional
	Submodules SubmodulePolicy `json:"submodules,omitempty" protobuf:"bytes,4,opt,name=submodules,casttype=SubmodulePolicy"`

	// secretRef names the Secret that holds the credentials for the
	// repository: username and password for https://, ssh-privatekey and
	// known_hosts for ssh. It cannot be used with http://. Setting it requires
	// get on that Secret, and so does changing repository, ref, submodules or
	// credentialScope beside it. When the Secret changes, running pods fetch
	// with the new password, key and known_hosts as soon as their node has
	// them, which by default takes up to a minute and a half; a new user name
	// takes new pods.
	// +optional
	// +k8s:optional
	SecretRef *SecretReference `json:"secretRef,omitempty" protobuf:"bytes,5,opt,name=secretRef"`

	// credentialScope says where the credentials of secretRef may be used when
	// submodules are fetched: Repository (at the path of repository only) or
	// Host (for every repository of its host, or of the hosts in known_hosts).
	// A key for ssh cannot be limited to one repository, so that submodules
	// with such a key require Host. Defaults to Repository.
	// +optional
	// +default="Repository"
	// +k8s:optional
	CredentialScope CredentialScope `json:"credentialScope,omitempty" protobuf:"bytes,6,opt,name=credentialScope,casttype=CredentialScope"`
}

// GitReference selects a commit of a repository. At most one of its fields may
// be set.
type GitReference struct {
	// branch is the branch to follow, without refs/heads/.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:maxLength=255
	Branch string `json:"branch,omitempty" protobuf:"bytes,1,opt,name=branch"`

	// tag is the tag to publish, without refs/tags/.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:maxLength=255
	Tag string `json:"tag,omitempty" protobuf:"bytes,2,opt,name=tag"`

	// commit pins the site to one commit: its full name of 40 or 64
	// hexadecimal digits in lower case.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	Commit string `json:"commit,omitempty" protobuf:"bytes,3,opt,name=commit"`

	// name is the full name of a reference of any kind, such as
	// refs/pull/1/head.
	// +optional
	// +k8s:optional
	// +k8s:zeroOrOneOfMember
	// +k8s:maxLength=255
	Name string `json:"name,omitempty" protobuf:"bytes,4,opt,name=name"`
}

// SubmodulePolicy says whether git submodules are fetched.
// +enum
// +k8s:enum
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

// SecretReference names a Secret in the namespace of the Website.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// WebsiteSync says how the pods follow the source.
type WebsiteSync struct {
	// periodSeconds is the time between two looks at the repository, from 10
	// to 86400. Defaults to 60.
	// +optional
	// +default=60
	// +k8s:optional
	// +k8s:minimum=10
	// +k8s:maximum=86400
	PeriodSeconds int32 `json:"periodSeconds,omitempty" protobuf:"varint,1,opt,name=periodSeconds"`

	// timeoutSeconds is the time after which a fetch is given up, from 10 to
	// 3600. Defaults to 120.
	// +optional
	// +default=120
	// +k8s:optional
	// +k8s:minimum=10
	// +k8s:maximum=3600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,2,opt,name=timeoutSeconds"`
}

// WebsiteServing says how the files are served. A path is answered with the file
// of that name, or else with the file of that name and the extension .html, or
// else with the index of that directory.
type WebsiteServing struct {
	// index is the file that is served for a directory. Letters, digits, '.',
	// '_' and '-'; it must not begin with '-' or '.'. Defaults to index.html.
	// +optional
	// +default="index.html"
	// +k8s:optional
	// +k8s:maxLength=255
	Index string `json:"index,omitempty" protobuf:"bytes,1,opt,name=index"`

	// notFoundPath is the page that is served, with status 404, for what does
	// not exist: an absolute path below the published directory. Defaults to
	// /404.html.
	// +optional
	// +default="/404.html"
	// +k8s:optional
	// +k8s:maxLength=1024
	NotFoundPath string `json:"notFoundPath,omitempty" protobuf:"bytes,2,opt,name=notFoundPath"`

	// fallback says what is served for a path that does not exist: None is the
	// page of notFoundPath, SPA the index of the site with status 200, as
	// applications need that route in the browser. Defaults to None.
	// +optional
	// +default="None"
	// +k8s:optional
	Fallback FallbackPolicy `json:"fallback,omitempty" protobuf:"bytes,3,opt,name=fallback,casttype=FallbackPolicy"`

	// redirects send requests for one path to another address. At most 2000,
	// no two from the same path.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:maxItems=2000
	Redirects []Redirect `json:"redirects,omitempty" protobuf:"bytes,4,rep,name=redirects"`

	// headers are added to responses. At most 100, no two of the same name for
	// the same path.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +listMapKey=name
	// +k8s:optional
	// +k8s:maxItems=100
	Headers []ResponseHeader `json:"headers,omitempty" protobuf:"bytes,5,rep,name=headers"`
}

// FallbackPolicy says what is served for a path that does not exist.
// +enum
// +k8s:enum
type FallbackPolicy string

const (
	// FallbackNone answers with status 404.
	FallbackNone FallbackPolicy = "None"
	// FallbackSPA serves the index of the site.
	FallbackSPA FallbackPolicy = "SPA"
)

// Redirect sends requests for one path to another address.
type Redirect struct {
	// from is the path that is redirected, exactly, as it is after decoding
	// and without a query. It must begin with '/'. What counts is the path
	// that is asked for, not that of a file: a redirect from /index.html is
	// not for /.
	// +required
	// +k8s:required
	// +k8s:maxLength=1024
	From string `json:"from" protobuf:"bytes,1,opt,name=from"`

	// to is where the request is sent: an absolute path of the site, or an
	// https:// or http:// URL.
	// +required
	// +k8s:required
	// +k8s:maxLength=2048
	To string `json:"to" protobuf:"bytes,2,opt,name=to"`

	// code is the HTTP status: 301, 302, 303, 307 or 308. Defaults to 301.
	// +optional
	// +default=301
	Code int32 `json:"code,omitempty" protobuf:"varint,3,opt,name=code"`
}

// ResponseHeader is a header that is added to responses.
type ResponseHeader struct {
	// path is the beginning of the paths for which the header is sent: of
	// those that are asked for, or, for a header that says how long an answer
	// may be kept, of the files that are served. Defaults to /, which is all
	// of them.
	// +optional
	// +default="/"
	// +k8s:optional
	// +k8s:maxLength=1024
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`

	// name of the header: letters, digits and '-'. Headers that belong to the
	// connection, or that the server writes itself, are refused.
	// +required
	// +k8s:required
	// +k8s:maxLength=128
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`

	// value of the header: printable ASCII characters except '$' and '\'.
	// +required
	// +k8s:required
	// +k8s:maxLength=4096
	Value string `json:"value" protobuf:"bytes,3,opt,name=value"`
}
