package website

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func repository(r string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Git.Repository = r }
}

func ref(r v1beta1.GitReference) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Git.Ref = &r }
}

func path(p string) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Path = p }
}

func ca(r v1beta1.CAReference) func(*website.Website) {
	return func(w *website.Website) { w.Spec.Source.Git.CARef = &r }
}

// sourceCases cover the source and its synchronization.
var sourceCases = map[string]specCase{
	"no source": {tweak: func(w *website.Website) { w.Spec.Source = v1beta1.WebsiteSource{Path: "public"} },
		want: []string{`spec.source: Invalid value: "": must specify one of: ` + "`git`"}},
	"no repository": {tweak: repository(""), want: []string{"spec.source.git.repository: Required value: the git " +
		"repository to publish; must be an https://, http:// or ssh:// URL, or user@host:path"}},
	"option": {tweak: repository("--upload-pack=x"),
		want: []string{`spec.source.git.repository: Invalid value: "--upload-pack=x": must not begin with '-'`}},
	"repository too long": {tweak: repository("https://example.com/" + strings.Repeat("a", 2048)),
		want: []string{"spec.source.git.repository: Too long: may not be more than 2048 characters"}},

	"branch": {tweak: ref(v1beta1.GitReference{Branch: "feature/a-b_c.d"})},
	"branch by its full name": {tweak: ref(v1beta1.GitReference{Branch: "refs/heads/main"}),
		want: []string{`spec.source.git.ref.branch: Invalid value: "refs/heads/main": must not begin with "refs/heads/": ` +
			`write the rest only`}},
	"tag by its full name": {tweak: ref(v1beta1.GitReference{Tag: "refs/tags/v1"}),
		want: []string{`spec.source.git.ref.tag: Invalid value: "refs/tags/v1": must not begin with "refs/tags/": ` +
			`write the rest only`}},
	"branch of refs":      {tweak: ref(v1beta1.GitReference{Branch: "refs"})},
	"branch with letters": {tweak: ref(v1beta1.GitReference{Branch: "zweig/ä-日本"})},
	"branch of control": {
		tweak: ref(v1beta1.GitReference{Branch: "a\u202eb"}), want: []string{`spec.source.git.ref.branch: Invalid value: ` +
			`"a\u202eb": must consist of letters and digits of any script, and the characters . _ / @ + # = -`},
	},
	"branch of option": {tweak: ref(v1beta1.GitReference{Branch: "-x"}),
		want: []string{`spec.source.git.ref.branch: Invalid value: "-x": must not begin with '-'`}},
	"branch with space": {
		tweak: ref(v1beta1.GitReference{Branch: "a b"}), want: []string{`spec.source.git.ref.branch: Invalid value: "a b": ` +
			`must consist of letters and digits of any script, and the characters . _ / @ + # = -`},
	},
	"branch with revision": {
		tweak: ref(v1beta1.GitReference{Branch: "main~1"}), want: []string{`spec.source.git.ref.branch: Invalid value: ` +
			`"main~1": must consist of letters and digits of any script, and the characters . _ / @ + # = -`},
	},
	"branch with reflog": {
		tweak: ref(v1beta1.GitReference{Branch: "main@{1}"}), want: []string{`spec.source.git.ref.branch: Invalid value: ` +
			`"main@{1}": must consist of letters and digits of any script, and the characters . _ / @ + # = -`},
	},
	"branch @": {tweak: ref(v1beta1.GitReference{Branch: "@"}),
		want: []string{`spec.source.git.ref.branch: Invalid value: "@": must not be '@', which git takes for HEAD`}},
	"branch with range": {tweak: ref(v1beta1.GitReference{Branch: "a..b"}),
		want: []string{`spec.source.git.ref.branch: Invalid value: "a..b": must not contain '..'`}},
	"branch with slashes": {
		tweak: ref(v1beta1.GitReference{Branch: "a//b"}),
		want:  []string{`spec.source.git.ref.branch: Invalid value: "a//b": must not begin or end with '/', or contain '//'`},
	},
	"branch ending in /": {tweak: ref(v1beta1.GitReference{Branch: "a/"}),
		want: []string{`spec.source.git.ref.branch: Invalid value: "a/": must not begin or end with '/', or contain '//'`}},
	"branch ending in .": {tweak: ref(v1beta1.GitReference{Branch: "a."}),
		want: []string{`spec.source.git.ref.branch: Invalid value: "a.": must not end with '.'`}},
	"branch with hidden": {
		tweak: ref(v1beta1.GitReference{Branch: "a/.b"}), want: []string{`spec.source.git.ref.branch: Invalid value: ` +
			`"a/.b": no part between slashes may begin with '.' or end with '.lock'`},
	},
	"branch with lock": {
		tweak: ref(v1beta1.GitReference{Branch: "a.lock/b"}), want: []string{`spec.source.git.ref.branch: Invalid value: ` +
			`"a.lock/b": no part between slashes may begin with '.' or end with '.lock'`},
	},
	"branch too long": {tweak: ref(v1beta1.GitReference{Branch: strings.Repeat("a", 256)}),
		want: []string{"spec.source.git.ref.branch: Too long: may not be more than 255 bytes"}},
	"tag": {tweak: ref(v1beta1.GitReference{Tag: "v1.0.0+build"})},
	"tag too long": {tweak: ref(v1beta1.GitReference{Tag: strings.Repeat("a", 256)}),
		want: []string{"spec.source.git.ref.tag: Too long: may not be more than 255 bytes"}},
	"branch at length":  {tweak: ref(v1beta1.GitReference{Branch: strings.Repeat("a", 255)})},
	"letters at length": {tweak: ref(v1beta1.GitReference{Branch: strings.Repeat("日", 85)})},
	"letters too long": {tweak: ref(v1beta1.GitReference{Branch: strings.Repeat("日", 86)}),
		want: []string{"spec.source.git.ref.branch: Too long: may not be more than 255 bytes"}},
	"tag with letters":  {tweak: ref(v1beta1.GitReference{Tag: "версия-1"})},
	"name with letters": {tweak: ref(v1beta1.GitReference{Name: "refs/x/日本"})},
	"name too long": {tweak: ref(v1beta1.GitReference{Name: "refs/" + strings.Repeat("a", 251)}),
		want: []string{"spec.source.git.ref.name: Too long: may not be more than 255 bytes"}},
	"tag of option": {tweak: ref(v1beta1.GitReference{Tag: "-x"}),
		want: []string{`spec.source.git.ref.tag: Invalid value: "-x": must not begin with '-'`}},
	"commit":            {tweak: ref(v1beta1.GitReference{Commit: strings.Repeat("0a", 20)})},
	"commit of SHA-256": {tweak: ref(v1beta1.GitReference{Commit: strings.Repeat("0a", 32)})},
	"abbreviated commit": {
		tweak: ref(v1beta1.GitReference{Commit: "0a0a0a0"}), want: []string{`spec.source.git.ref.commit: Invalid value: ` +
			`"0a0a0a0": must be the full name of a commit: 40 or 64 hexadecimal digits in lower case`},
	},
	"commit in upper case": {tweak: ref(v1beta1.GitReference{Commit: strings.Repeat("0A", 20)}),
		want: []string{`spec.source.git.ref.commit: Invalid value: "0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A0A": must be the ` +
			`full name of a commit: 40 or 64 hexadecimal digits in lower case`}},
	"full name": {tweak: ref(v1beta1.GitReference{Name: "refs/pull/1/head"})},
	"name of no kind": {tweak: ref(v1beta1.GitReference{Name: "main"}),
		want: []string{`spec.source.git.ref.name: Invalid value: "main": must begin with "refs/"`}},
	"name with nothing": {tweak: ref(v1beta1.GitReference{Name: "refs/"}),
		want: []string{`spec.source.git.ref.name: Invalid value: "refs/": must not begin or end with '/', or contain '//'`}},
	"no choice": {tweak: ref(v1beta1.GitReference{})},
	"two choices": {
		tweak: ref(v1beta1.GitReference{Branch: "main", Tag: "v1"}), want: []string{"spec.source.git.ref: Invalid value: " +
			"\"{branch, tag}\": must specify at most one of: `branch`, `tag`, `commit`, `name`"},
	},
	"path":              {tweak: path("docs/_site/v1.0")},
	"path with letters": {tweak: path("my site/日本 docs")},
	"path with end space": {tweak: path("a /b"),
		want: []string{`spec.source.path: Invalid value: "a /b": no segment may begin or end with a space`}},
	"path not in UTF-8": {tweak: path("a\xff"), want: []string{`spec.source.path: Invalid value: "a\xff": must ` +
		`consist of letters and digits of any script, spaces, and the characters . _ - /`}},
	"path at the root": {tweak: path("/docs"),
		want: []string{`spec.source.path: Invalid value: "/docs": must be relative, without '/' at its end or '//' in it`}},
	"path ending in /": {tweak: path("docs/"),
		want: []string{`spec.source.path: Invalid value: "docs/": must be relative, without '/' at its end or '//' in it`}},
	"path leading out": {tweak: path("a/../../b"),
		want: []string{`spec.source.path: Invalid value: "a/../../b": must not contain the segment '.' or '..'`}},
	"path to git's data": {tweak: path("a/.GIT/b"),
		want: []string{`spec.source.path: Invalid value: "a/.GIT/b": must not lead into '.git'`}},
	"path like an option": {tweak: path("a/-b"),
		want: []string{`spec.source.path: Invalid value: "a/-b": no segment may begin with '-'`}},
	"path with variable": {tweak: path("a/$uri"), want: []string{`spec.source.path: Invalid value: "a/$uri": must ` +
		`consist of letters and digits of any script, spaces, and the characters . _ - /`}},
	"letters of long path": {tweak: path(strings.Repeat("日", 342)),
		want: []string{"spec.source.path: Too long: may not be more than 1024 bytes"}},
	"path too long": {tweak: path(strings.Repeat("a", 1025)),
		want: []string{"spec.source.path: Too long: may not be more than 1024 bytes"}},
	"submodules": {tweak: func(w *website.Website) {
		w.Spec.Source.Git.Submodules = v1beta1.SubmodulesShallow
	}},
	"submodules in between": {tweak: func(w *website.Website) { w.Spec.Source.Git.Submodules = "Some" },
		want: []string{`spec.source.git.submodules: Unsupported value: "Some": supported values: "None", "Recursive", ` +
			`"Shallow"`}},
	"credentials of a host": {tweak: func(w *website.Website) {
		w.Spec.Source.Git.CredentialScope = v1beta1.CredentialScopeHost
	}},
	"credentials of all": {tweak: func(w *website.Website) { w.Spec.Source.Git.CredentialScope = "All" },
		want: []string{`spec.source.git.credentialScope: Unsupported value: "All": supported values: "Host", "Repository"`}},
	"secret": {tweak: func(w *website.Website) {
		w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: "git.key"}
	}},
	"secret without name": {tweak: func(w *website.Website) { w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{} },
		want: []string{"spec.source.git.secretRef.name: Required value"}},
	"secret in upper case": {tweak: func(w *website.Website) {
		w.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: "Key"}
	}, want: []string{`spec.source.git.secretRef.name: Invalid value: "Key": ` + validation.IsDNS1123Subdomain("Key")[0]}},

	"CA of a ConfigMap": {tweak: ca(v1beta1.CAReference{ConfigMapName: "ca", Key: "ca.crt"})},
	"CA of a Secret":    {tweak: ca(v1beta1.CAReference{SecretName: "ca", Key: "tls.ca"})},
	"CA of nothing": {tweak: ca(v1beta1.CAReference{Key: "ca.crt"}),
		want: []string{`spec.source.git.caRef: Invalid value: "": must specify one of: ` + "`configMapName`, `secretName`"}},
	"CA of both": {tweak: ca(v1beta1.CAReference{ConfigMapName: "ca", SecretName: "ca", Key: "ca.crt"}),
		want: []string{`spec.source.git.caRef: Invalid value: "{configMapName, secretName}": must specify exactly one of: ` +
			"`configMapName`, `secretName`"}},
	"CA of an upper-case ConfigMap": {tweak: ca(v1beta1.CAReference{ConfigMapName: "CA", Key: "ca.crt"}),
		want: []string{
			`spec.source.git.caRef.configMapName: Invalid value: "CA": ` + validation.IsDNS1123Subdomain("CA")[0],
		}},
	"CA of an upper-case Secret": {tweak: ca(v1beta1.CAReference{SecretName: "CA", Key: "ca.crt"}),
		want: []string{`spec.source.git.caRef.secretName: Invalid value: "CA": ` + validation.IsDNS1123Subdomain("CA")[0]}},
	"CA of a path": {tweak: ca(v1beta1.CAReference{SecretName: "ca", Key: "x/y"}),
		want: []string{`spec.source.git.caRef.key: Invalid value: "x/y": ` + validation.IsConfigMapKey("x/y")[0]}},
	"CA for http": {tweak: tweaks(repository("http://example.com/site.git"),
		ca(v1beta1.CAReference{SecretName: "ca", Key: "ca.crt"})),
		want: []string{"spec.source.git.caRef: Forbidden: may only be set for an https:// repository"}},

	"slowest sync": {tweak: func(w *website.Website) {
		w.Spec.Polling = v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 86400, TimeoutSeconds: 3600}
	}},
	"fastest sync": {tweak: func(w *website.Website) {
		w.Spec.Polling = v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 10, TimeoutSeconds: 10}
	}},
	"never polled": {tweak: func(w *website.Website) { w.Spec.Polling.Mode = v1beta1.PollingModeNever }},
	"polled at will": {tweak: func(w *website.Website) { w.Spec.Polling.Mode = "Sometimes" },
		want: []string{`spec.polling.mode: Unsupported value: "Sometimes": supported values: "Never", "Periodic"`}},
	"period short": {tweak: func(w *website.Website) { w.Spec.Polling.PeriodSeconds = 9 },
		want: []string{"spec.polling.periodSeconds: Invalid value: 9: must be greater than or equal to 10"}},
	"period long": {tweak: func(w *website.Website) { w.Spec.Polling.PeriodSeconds = 86401 },
		want: []string{"spec.polling.periodSeconds: Invalid value: 86401: must be less than or equal to 86400"}},
	"timeout short": {tweak: func(w *website.Website) { w.Spec.Polling.TimeoutSeconds = 9 },
		want: []string{"spec.polling.timeoutSeconds: Invalid value: 9: must be greater than or equal to 10"}},
	"timeout long": {tweak: func(w *website.Website) { w.Spec.Polling.TimeoutSeconds = 3601 },
		want: []string{"spec.polling.timeoutSeconds: Invalid value: 3601: must be less than or equal to 3600"}},
}
