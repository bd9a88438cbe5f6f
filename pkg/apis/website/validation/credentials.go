package validation

import (
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// transport contains the fields that decide whether credentials are required or
// forbidden.
type transport struct {
	Repository string
	SecretRef  *website.SecretReference
}

func transportOf(source *website.WebsiteSource) transport {
	return transport{Repository: source.Repository, SecretRef: source.SecretRef}
}

// validateTransport checks that there are credentials for ssh, and that none are
// sent unencrypted.
func validateTransport(source *website.WebsiteSource, path *field.Path) field.ErrorList {
	switch {
	case source.SecretRef == nil && usesSSH(source.Repository):
		return field.ErrorList{field.Required(path, "a repository over ssh requires a Secret with ssh-privatekey and known_hosts")}
	case source.SecretRef != nil && strings.HasPrefix(source.Repository, "http://"):
		return field.ErrorList{field.Forbidden(path, "may not be set for an http:// repository, to which credentials are sent unencrypted: use https://")}
	}
	return nil
}

// credentialUse contains the fields that decide where credentials are sent.
type credentialUse struct {
	transport
	Submodules website.SubmodulePolicy
	Scope      website.CredentialScope
}

func credentialUseOf(source *website.WebsiteSource) credentialUse {
	return credentialUse{transport: transportOf(source), Submodules: source.Submodules, Scope: source.CredentialScope}
}

// validateCredentialScope checks that the scope can be enforced: ssh offers its
// key to every repository of the known hosts.
func validateCredentialScope(source *website.WebsiteSource, path *field.Path) field.ErrorList {
	fetchesSubmodules := source.Submodules == website.SubmodulesShallow || source.Submodules == website.SubmodulesRecursive
	if source.SecretRef == nil || !fetchesSubmodules || !usesSSH(source.Repository) || source.CredentialScope != website.CredentialScopeRepository {
		return nil
	}
	return field.ErrorList{field.Invalid(path, source.CredentialScope, "must be Host to fetch submodules with a key for ssh, which cannot be limited to one repository")}
}

// caUse contains the fields that decide whether a bundle of CA certificates is used.
type caUse struct {
	Repository string
	CARef      *website.CAReference
}

func caUseOf(source *website.WebsiteSource) caUse {
	return caUse{Repository: source.Repository, CARef: source.CARef}
}

// validateCARef checks the key, and that the repository has a certificate to verify. The
// type declares that exactly one of the names must be set.
func validateCARef(source *website.WebsiteSource, path *field.Path) field.ErrorList {
	if source.CARef == nil {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsConfigMapKey(source.CARef.Key) {
		errs = append(errs, field.Invalid(path.Child("key"), source.CARef.Key, msg))
	}
	if !strings.HasPrefix(source.Repository, "https://") {
		errs = append(errs, field.Forbidden(path, "may only be set for an https:// repository"))
	}
	return errs
}

// usesSSH reports whether git fetches a valid address over ssh.
func usesSSH(repo string) bool {
	return strings.HasPrefix(repo, "ssh://") || scpAddress.MatchString(repo)
}
