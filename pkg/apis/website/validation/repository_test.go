package validation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestValidateRepository(t *testing.T) {
	const (
		forms   = "must be an https://, http:// or ssh:// URL, or user@host:path"
		illegal = "must not contain white space, control characters, quotes or other characters that are not legal in a URL"
		query   = "must not contain a query string ('?') or a fragment ('#')"
		dollar  = "must not contain '$'; a URL may contain %24 instead"
		port    = "the port must be between 1 and 65535"
	)
	tests := map[string]struct {
		repo string
		want string
	}{
		"https":              {repo: "https://github.com/nevermosby/kubia-website-example.git"},
		"http with port":     {repo: "http://git.example.com:3000/team/site"},
		"IPv6 host":          {repo: "https://[2001:db8::1]:8443/site.git"},
		"ssh":                {repo: "ssh://git@example.com:2222/team/site.git"},
		"ssh without user":   {repo: "ssh://example.com/team/site.git"},
		"scp-like":           {repo: "git@github.com:nevermosby/kubia-website-example.git"},
		"scp-like with home": {repo: "git@example.com:~/site.git"},
		"percent-encoded":    {repo: "https://example.com/a%20b.git"},
		"page of a branch": {repo: "https://github.com/o/r/tree/main",
			want: `Invalid value: "https://github.com/o/r/tree/main": must be the address to clone from: remove "/tree/" and ` +
				`the rest, and set ref and path instead`},
		"page of a file": {repo: "https://gitlab.example.com/group/sub/r/-/blob/main/index.html",
			want: `Invalid value: "https://gitlab.example.com/group/sub/r/-/blob/main/index.html": must be the address to ` +
				`clone from: remove "/-/blob/" and the rest, and set ref and path instead`},
		"page of a directory": {repo: "https://codeberg.org/o/r/src/branch/main",
			want: `Invalid value: "https://codeberg.org/o/r/src/branch/main": must be the address to clone from: ` +
				`remove "/src/" and the rest, and set ref and path instead`},
		"groups with such names": {repo: "https://git.example.com/a/b/tree/src/site.git"},
		"repository called tree": {repo: "https://github.com/o/tree"},
		"highest port":           {repo: "https://example.com:65535/site.git"},
		"port too high": {repo: "https://example.com:65536/site.git",
			want: `Invalid value: "https://example.com:65536/site.git": ` + port},
		"port far too high": {repo: "https://example.com:99999999999999999999/site.git",
			want: `Invalid value: "https://example.com:99999999999999999999/site.git": ` + port},
		"port 0": {repo: "http://example.com:0/site.git",
			want: `Invalid value: "http://example.com:0/site.git": ` + port},
		"port 0 of IPv6": {repo: "https://[2001:db8::1]:00/site.git",
			want: `Invalid value: "https://[2001:db8::1]:00/site.git": ` + port},
		"port of ssh too high": {repo: "ssh://git@example.com:65536/site.git",
			want: `Invalid value: "ssh://git@example.com:65536/site.git": ` + port},
		"query string": {repo: "https://example.com/site.git?x=1",
			want: `Invalid value: "https://example.com/site.git?xxxxx": ` + query},
		"empty query string": {repo: "https://example.com/site.git?",
			want: `Invalid value: "https://example.com/site.git?xxxxx": ` + query},
		"query string, scp-like": {repo: "git@example.com:site.git?x=1",
			want: `Invalid value: "git@example.com:site.git?xxxxx": ` + query},
		"variable": {repo: "https://example.com/$(GIT_USERNAME)/x.git",
			want: `Invalid value: "https://example.com/$(GIT_USERNAME)/x.git": ` + dollar},
		"dollar sign": {repo: "https://example.com/x$.git",
			want: `Invalid value: "https://example.com/x$.git": ` + dollar},
		"dollar sign in scp-like": {repo: "git@example.com:x$y.git",
			want: `Invalid value: "git@example.com:x$y.git": ` + dollar},
		"dollar sign, encoded": {repo: "https://example.com/x%24.git"},
		"as long as can be": {
			repo: "https://example.com/" + strings.Repeat("a", maxRepositoryLength-len("https://example.com/")),
		},
		"too long": {repo: "https://example.com/" + strings.Repeat("a", maxRepositoryLength),
			want: "Too long: may not be more than 2048 characters"},
		"missing": {repo: "", want: "Required value: the git repository to publish; " + forms},
		"option": {repo: "--upload-pack=touch",
			want: `Invalid value: "--upload-pack=touch": must not begin with '-'`},
		"short option": {repo: "-u", want: `Invalid value: "-u": must not begin with '-'`},
		"space": {repo: "https://example.com/a b",
			want: `Invalid value: "https://example.com/a b": ` + illegal},
		"line feed": {repo: "https://example.com/a\nb",
			want: `Invalid value: "https://example.com/a\nb": ` + illegal},
		"line feed at the end": {repo: "https://example.com/a\n",
			want: `Invalid value: "https://example.com/a\n": ` + illegal},
		"zero byte": {repo: "https://example.com/a\x00",
			want: `Invalid value: "https://example.com/a\x00": ` + illegal},
		"quote": {repo: `https://example.com/a"`,
			want: `Invalid value: "https://example.com/a\"": ` + illegal},
		"non-ASCII": {repo: "https://exämple.com/a",
			want: `Invalid value: "https://exämple.com/a": ` + illegal},
		"local path":    {repo: "/srv/git/site.git", want: `Invalid value: "/srv/git/site.git": ` + forms},
		"relative path": {repo: "../site.git", want: `Invalid value: "../site.git": ` + forms},
		"file": {repo: "file:///srv/git/site.git",
			want: `Invalid value: "file:///srv/git/site.git": ` + forms},
		"git protocol": {repo: "git://example.com/site.git",
			want: `Invalid value: "git://example.com/site.git": ` + forms},
		"ext transport": {repo: "ext::sh", want: `Invalid value: "ext::sh": ` + forms},
		"ext transport with scheme": {repo: "ext::https://example.com/site.git",
			want: `Invalid value: "ext::https://example.com/site.git": ` + forms},
		"scheme in upper case": {repo: "HTTPS://example.com/site.git",
			want: `Invalid value: "HTTPS://example.com/site.git": ` + forms + ", in lower case"},
		"password in https": {repo: "https://user:secret@example.com/site.git",
			want: `Invalid value: "https://user:xxxxx@example.com/site.git": must not contain a user name or password`},
		"user in https": {repo: "https://token@example.com/site.git",
			want: `Invalid value: "https://xxxxx@example.com/site.git": must not contain a user name or password`},
		"password in ssh": {repo: "ssh://git:secret@example.com/site.git",
			want: `Invalid value: "ssh://git:xxxxx@example.com/site.git": must not contain a password`},
		"ssh option as host": {repo: "ssh://-oProxyCommand=x/site.git",
			want: `Invalid value: "ssh://-oProxyCommand=x/site.git": must name a host`},
		"ssh option as user": {repo: "ssh://-oProxyCommand=x@example.com/site.git", want: `Invalid value: ` +
			`"ssh://-oProxyCommand=x@example.com/site.git": the user name must consist of letters, digits, '.', '_' and '-', ` +
			`and must not begin with '-'`},
		"scp-like option as host": {repo: "git@-oProxyCommand=x:site.git",
			want: `Invalid value: "git@-oProxyCommand=x:site.git": ` + forms},
		"scp-like option as path": {repo: "git@example.com:-site.git",
			want: `Invalid value: "git@example.com:-site.git": ` + forms},
		"scp-like without user": {repo: "example.com:site.git", want: `Invalid value: "example.com:site.git": ` + forms},
		"no host": {repo: "https:///site.git",
			want: `Invalid value: "https:///site.git": must name a host`},
		"no repository": {repo: "https://example.com",
			want: `Invalid value: "https://example.com": must name a repository after the host`},
		"no repository, with slash": {repo: "https://example.com/",
			want: `Invalid value: "https://example.com/": must name a repository after the host`},
		"fragment": {repo: "https://example.com/site.git#main",
			want: `Invalid value: "https://example.com/site.git#xxxxx": ` + query},
		"empty fragment": {repo: "https://example.com/site.git#",
			want: `Invalid value: "https://example.com/site.git#xxxxx": ` + query},
		"bad encoding, with a user": {repo: "https://token@example.com/%zz",
			want: `Invalid value: "https://xxxxx@example.com/%zz": ` + forms + ": must be a valid URL"},
		"bad percent encoding": {repo: "https://example.com/%zz",
			want: `Invalid value: "https://example.com/%zz": ` + forms + `: invalid URL escape "%zz"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var want []string
			if test.want != "" {
				want = []string{"spec.source.git.repository: " + test.want}
			}
			checkErrors(t, ValidateWebsite(newWebsite(repo(test.repo), onlyForSSH(test.repo, secret("key")))), want)
		})
	}
}

// TestRepositoryErrorHidesCredentials keeps passwords and tokens out of error
// messages, which end up in logs, events and terminals. The passwords begin with
// "sec" and end with "ret".
func TestRepositoryErrorHidesCredentials(t *testing.T) {
	tests := map[string]struct {
		address string
		want    string
		// goodTarget is set for addresses that are rejected as a repository only.
		goodTarget bool
	}{
		"password":        {address: "https://user:secret@h/x", want: "https://user:xxxxx@h/x"},
		"password in ssh": {address: "ssh://git:secret@h/x", want: "ssh://git:xxxxx@h/x"},
		"token": {address: "https://secret@github.com/o/r.git",
			want: "https://xxxxx@github.com/o/r.git"},
		"token, empty password":     {address: "https://secret:@h/x", want: "https://xxxxx@h/x"},
		"token, marked as such":     {address: "https://secret:x-oauth-basic@h/x", want: "https://xxxxx@h/x"},
		"token in ssh, with marker": {address: "ssh://secret:x-oauth-basic@h/x", want: "ssh://xxxxx@h/x"},
		"illegal character":         {address: "https://u:sec^ret@h/x", want: "https://u:xxxxx@h/x"},
		"space before it":           {address: " https://u:secret@h/x", want: " https:xxxxx@h/x"},
		"dash before it":            {address: "-https://secret@h/x", want: "-https:xxxxx@h/x"},
		"bad percent encoding":      {address: "https://u:sec%zzret@h/x", want: "https://u:xxxxx@h/x"},
		"number sign":               {address: "https://u:sec#ret@h/x", want: "https://u:xxxxx"},
		"number sign in a token":    {address: "https://sec#ret@h/x", want: "https://xxxxx", goodTarget: true},
		"slash":                     {address: "https://u:sec/ret@h/x", want: "https://u:xxxxx@h/x"},
		"question mark":             {address: "https://u:sec?ret@h/x", want: "https://u:xxxxx"},
		"query string":              {address: "https://h/x?token=secret", want: "https://h/x?xxxxx", goodTarget: true},
		"query string, port": {address: "https://h:8443/x?token=secret", want: "https://h:8443/x?xxxxx",
			goodTarget: true},
		"query string after user":    {address: "https://u:secret@h/x?token=secret", want: "https://u:xxxxx@h/x?xxxxx"},
		"query string with at sign":  {address: "https://h/x?token=sec@ret", want: "https://xxxxx", goodTarget: true},
		"that, with a port":          {address: "https://h:8443/x?token=sec@ret", want: "https://h:xxxxx", goodTarget: true},
		"that, with a colon":         {address: "https://h/x?token=sec:ret@y", want: "https://xxxxx", goodTarget: true},
		"query string in ssh":        {address: "ssh://git@h/x?token=secret", want: "ssh://git@h/x?xxxxx"},
		"query string in scp form":   {address: "git@h:x?token=secret", want: "git@h:x?xxxxx"},
		"scp form, with at sign":     {address: "git@h:x?token=sec@ret", want: "git@h:xxxxx"},
		"fragment":                   {address: "https://h/x#secret", want: "https://h/x#xxxxx", goodTarget: true},
		"fragment in scp form":       {address: "git@h:x#secret", want: "git@h:x#xxxxx"},
		"fragment, badly encoded":    {address: "https://h/x#sec%zzret", want: "https://h/x#xxxxx"},
		"at sign":                    {address: "https://u:sec@ret@h/x", want: "https://u:xxxxx@h/x"},
		"colon":                      {address: "https://u:sec:ret@h/x", want: "https://u:xxxxx@h/x"},
		"like a scheme":              {address: "u:sec://ret@h/x", want: "u:xxxxx@h/x"},
		"scheme in upper case":       {address: "HTTPS://u:secret@h/x", want: "HTTPS://u:xxxxx@h/x"},
		"token, scheme so":           {address: "HTTPS://secret@h/x", want: "HTTPS://xxxxx@h/x"},
		"git protocol":               {address: "git://u:secret@h/x", want: "git://u:xxxxx@h/x"},
		"ftp":                        {address: "ftp://u:secret@h/x", want: "ftp://u:xxxxx@h/x"},
		"token in ftp":               {address: "ftp://secret@h/x", want: "ftp://xxxxx@h/x"},
		"one slash":                  {address: "https:/secret@h/x", want: "https:xxxxx@h/x"},
		"no scheme":                  {address: "//u:secret@h/x", want: "//u:xxxxx@h/x"},
		"password in the scp form":   {address: "u:secret@h:x.git", want: "u:xxxxx@h:x.git"},
		"token before a bare host":   {address: "secret@github.com/o/r.git", want: "xxxxx@github.com/o/r.git"},
		"login name in ssh":          {address: "ssh://git@h", want: "ssh://git@h"},
		"login name in the scp form": {address: "git@h:-x", want: "git@h:-x"},
		"nothing to hide":            {address: "ftp://h/x", want: "ftp://h/x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			redirect := newWebsite(func(w *website.Website) {
				w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/a", To: test.address, StatusCode: 301}}
			})
			observed := newWebsite(func(w *website.Website) {
				w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/a", To: "/b", StatusCode: 301}}
				w.Status.URLs = []string{test.address}
			})
			found := map[string]field.ErrorList{
				"repository": ValidateWebsite(newWebsite(repo(test.address), onlyForSSH(test.address, secret("key")))),
				"redirect":   ValidateWebsite(redirect),
				"status":     ValidateWebsiteStatusUpdate(observed, newWebsite()),
			}
			for where, errs := range found {
				if len(errs) == 0 && !(test.goodTarget && where != "repository") {
					t.Errorf("%s: no error", where)
				}
				for _, err := range errs {
					if err.BadValue != test.want {
						t.Errorf("%s: the error shows %v, want %s", where, err.BadValue, test.want)
					}
					if msg := err.Error(); strings.Contains(msg, "sec") || strings.Contains(msg, "ret") {
						t.Errorf("%s: the error shows a part of the password: %s", where, msg)
					}
				}
			}
		})
	}
}

// onlyForSSH returns tweak for an address that is fetched over ssh.
func onlyForSSH(address string, tweak func(*website.Website)) func(*website.Website) {
	if usesSSH(address) {
		return tweak
	}
	return func(*website.Website) {}
}
