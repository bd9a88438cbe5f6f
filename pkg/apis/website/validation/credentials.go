package validation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// transport is what decides whether credentials are required or refused.
type transport struct {
	Repository string
	SecretRef  *website.SecretReference
}

func transportOf(source *website.WebsiteSource) transport {
	return transport{Repository: source.Repository, SecretRef: source.SecretRef}
}

// validateTransport checks that credentials are there for ssh, which fetches
// nothing without a key, and that none are sent unencrypted.
func validateTransport(source *website.WebsiteSource, path *field.Path) field.ErrorList {
	switch {
	case source.SecretRef == nil && usesSSH(source.Repository):
		return field.ErrorList{field.Required(path, "a repository over ssh requires a Secret with ssh-privatekey and known_hosts")}
	case source.SecretRef != nil && strings.HasPrefix(source.Repository, "http://"):
		return field.ErrorList{field.Forbidden(path, "may not be set for an http:// repository, to which credentials are sent unencrypted: use https://")}
	}
	return nil
}

// credentialUse is what decides where credentials are used.
type credentialUse struct {
	transport
	Submodules website.SubmodulePolicy
	Scope      website.CredentialScope
}

func credentialUseOf(source *website.WebsiteSource) credentialUse {
	return credentialUse{transport: transportOf(source), Submodules: source.Submodules, Scope: source.CredentialScope}
}

// validateCredentialScope checks that the scope can be kept: ssh offers its key
// to every repository of the hosts that it knows.
func validateCredentialScope(source *website.WebsiteSource, path *field.Path) field.ErrorList {
	fetchesSubmodules := source.Submodules == website.SubmodulesShallow || source.Submodules == website.SubmodulesRecursive
	if source.SecretRef == nil || !fetchesSubmodules || !usesSSH(source.Repository) || source.CredentialScope != website.CredentialScopeRepository {
		return nil
	}
	return field.ErrorList{field.Invalid(path, source.CredentialScope, "must be Host to fetch submodules with a key for ssh, which cannot be limited to one repository")}
}

// usesSSH tells of an address that is accepted whether git fetches it over ssh.
func usesSSH(repo string) bool {
	return strings.HasPrefix(repo, "ssh://") || scpAddress.MatchString(repo)
}
