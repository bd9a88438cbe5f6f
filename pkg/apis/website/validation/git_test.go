package validation

import (
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	keyRequired = "spec.source.git.secretRef: Required value: a repository over ssh requires a Secret with " +
		"ssh-privatekey and known_hosts"
	notEncrypted = "spec.source.git.secretRef: Forbidden: may not be set for an http:// repository, to which " +
		"credentials are sent unencrypted: use https://"
	needsHost = `spec.source.git.credentialScope: Invalid value: "Repository": must be Host to fetch submodules with ` +
		`a key for ssh, which cannot be limited to one repository`
)

func TestValidateCredentials(t *testing.T) {
	const repository, host = v1beta1.CredentialScopeRepository, v1beta1.CredentialScopeHost
	tests := map[string]struct {
		tweaks []func(*website.Website)
		want   []string
	}{
		"https":             {tweaks: []func(*website.Website){repo("https://h/x")}},
		"https with Secret": {tweaks: []func(*website.Website){repo("https://h/x"), secret("s")}},
		"http":              {tweaks: []func(*website.Website){repo("http://h/x")}},
		"http with Secret": {tweaks: []func(*website.Website){repo("http://h/x"), secret("s")},
			want: []string{notEncrypted}},
		"ssh": {tweaks: []func(*website.Website){repo("ssh://git@h/x")},
			want: []string{keyRequired}},
		"ssh with Secret": {tweaks: []func(*website.Website){repo("ssh://git@h/x"), secret("s")}},
		"ssh without user": {tweaks: []func(*website.Website){repo("ssh://h/x")},
			want: []string{keyRequired}},
		"scp form": {tweaks: []func(*website.Website){repo("git@h:x")},
			want: []string{keyRequired}},
		"scp form with Secret": {tweaks: []func(*website.Website){repo("git@h:x"), secret("s")}},
		"submodules over https": {tweaks: []func(*website.Website){repo("https://h/x"), secret("s"),
			submodules(v1beta1.SubmodulesRecursive, repository)}},
		"submodules over https, of the host": {tweaks: []func(*website.Website){repo("https://h/x"), secret("s"),
			submodules(v1beta1.SubmodulesRecursive, host)}},
		"submodules over ssh": {tweaks: []func(*website.Website){repo("ssh://git@h/x"), secret("s"),
			submodules(v1beta1.SubmodulesRecursive, repository)}, want: []string{needsHost}},
		"shallow submodules, scp form": {tweaks: []func(*website.Website){repo("git@h:x"), secret("s"),
			submodules(v1beta1.SubmodulesShallow, repository)}, want: []string{needsHost}},
		"submodules over ssh, of the host": {tweaks: []func(*website.Website){repo("ssh://git@h/x"), secret("s"),
			submodules(v1beta1.SubmodulesRecursive, host)}},
		"scope without submodules": {tweaks: []func(*website.Website){repo("ssh://git@h/x"), secret("s"),
			submodules(v1beta1.SubmodulesNone, host)}},
		"scope without Secret": {tweaks: []func(*website.Website){submodules(v1beta1.SubmodulesNone, host)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkErrors(t, ValidateWebsite(newWebsite(test.tweaks...)), test.want)
		})
	}
}

// TestValidateCredentialsUpdate starts from Websites that were stored before
// these rules.
func TestValidateCredentialsUpdate(t *testing.T) {
	const repository, host = v1beta1.CredentialScopeRepository, v1beta1.CredentialScopeHost
	type tweaks []func(*website.Website)
	tests := map[string]struct {
		stored, change tweaks
		want           []string
	}{
		"nothing changes with http": {stored: tweaks{repo("http://h/x"), secret("s")}, change: tweaks{replicas(3)}},
		"nothing changes with ssh":  {stored: tweaks{repo("git@h:x")}, change: tweaks{replicas(3)}},
		"nothing changes with a key": {
			stored: tweaks{repo("git@h:x"), secret("s"), submodules(v1beta1.SubmodulesShallow, repository)},
			change: tweaks{replicas(3)},
		},
		"nothing changes with a query": {stored: tweaks{repo("https://h:99999/$(X)?y#z")}, change: tweaks{replicas(3)}},
		"Secret added to http": {stored: tweaks{repo("http://h/x")}, change: tweaks{secret("s")},
			want: []string{notEncrypted}},
		"Secret renamed with http": {stored: tweaks{repo("http://h/x"), secret("s")}, change: tweaks{secret("t")},
			want: []string{notEncrypted}},
		"https becomes http": {stored: tweaks{repo("https://h/x"), secret("s")},
			change: tweaks{repo("http://h/x")}, want: []string{notEncrypted}},
		"submodules change with http": {stored: tweaks{repo("http://h/x"), secret("s")},
			change: tweaks{submodules(v1beta1.SubmodulesShallow, repository)}},
		"Secret removed from ssh": {stored: tweaks{repo("git@h:x"), secret("s")},
			change: tweaks{func(w *website.Website) { w.Spec.Source.Git.SecretRef = nil }}, want: []string{keyRequired}},
		"https becomes ssh": {stored: tweaks{}, change: tweaks{repo("git@h:x")}, want: []string{keyRequired}},
		"Secret removed from http": {stored: tweaks{repo("http://h/x"), secret("s")},
			change: tweaks{func(w *website.Website) { w.Spec.Source.Git.SecretRef = nil }}},
		"submodules added over ssh": {stored: tweaks{repo("git@h:x"), secret("s")},
			change: tweaks{submodules(v1beta1.SubmodulesShallow, repository)}, want: []string{needsHost}},
		"scope narrowed over ssh": {
			stored: tweaks{repo("git@h:x"), secret("s"), submodules(v1beta1.SubmodulesShallow, host)},
			change: tweaks{submodules(v1beta1.SubmodulesShallow, repository)}, want: []string{needsHost},
		},
		"https with submodules becomes ssh": {stored: tweaks{secret("s"), submodules(v1beta1.SubmodulesShallow, repository)},
			change: tweaks{repo("git@h:x")}, want: []string{needsHost}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			checkErrors(t, ValidateWebsiteUpdate(newWebsite(append(test.stored, test.change...)...), newWebsite(test.stored...)),
				test.want)
		})
	}
}
