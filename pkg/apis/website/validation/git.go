package validation

import (
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// validateGitSource checks the fields that differ from old, which is nil on creation and for a
// source of another kind.
func validateGitSource(git, old *v1beta1.GitSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	creating := old == nil
	if creating {
		old = &v1beta1.GitSource{}
	}
	check := func(value, previous any, validate func() field.ErrorList) {
		if creating || !apiequality.Semantic.DeepEqual(value, previous) {
			errs = append(errs, validate()...)
		}
	}
	check(git.Repository, old.Repository, func() field.ErrorList {
		return validateRepository(git.Repository, path.Child("repository"))
	})
	check(transportOf(git), transportOf(old), func() field.ErrorList {
		return validateTransport(git, path.Child("secretRef"))
	})
	check(credentialUseOf(git), credentialUseOf(old), func() field.ErrorList {
		return validateCredentialScope(git, path.Child("credentialScope"))
	})
	check(caUseOf(git), caUseOf(old), func() field.ErrorList {
		return validateCARef(git, path.Child("caRef"))
	})
	check(git.Ref, old.Ref, func() field.ErrorList {
		return validateReference(git.Ref, path.Child("ref"))
	})
	return errs
}

// transport contains the fields that determine whether credentials are required
// or forbidden.
type transport struct {
	Repository string
	SecretRef  *v1beta1.SecretReference
}

func transportOf(git *v1beta1.GitSource) transport {
	return transport{Repository: git.Repository, SecretRef: git.SecretRef}
}

// validateTransport checks that ssh has credentials, and that none are
// sent unencrypted.
func validateTransport(git *v1beta1.GitSource, path *field.Path) field.ErrorList {
	switch {
	case git.SecretRef == nil && usesSSH(git.Repository):
		return field.ErrorList{field.Required(path,
			"a repository over ssh requires a Secret with ssh-privatekey and known_hosts")}
	case git.SecretRef != nil && strings.HasPrefix(git.Repository, "http://"):
		return field.ErrorList{field.Forbidden(path,
			"may not be set for an http:// repository, to which credentials are sent unencrypted: use https://")}
	}
	return nil
}

// credentialUse contains the fields that determine where credentials are sent.
type credentialUse struct {
	transport
	Submodules v1beta1.SubmodulePolicy
	Scope      v1beta1.CredentialScope
}

func credentialUseOf(git *v1beta1.GitSource) credentialUse {
	return credentialUse{transport: transportOf(git), Submodules: git.Submodules, Scope: git.CredentialScope}
}

// validateCredentialScope checks that the scope can be enforced: ssh offers its
// key to every repository of the known hosts.
func validateCredentialScope(git *v1beta1.GitSource, path *field.Path) field.ErrorList {
	fetchesSubmodules := git.Submodules == v1beta1.SubmodulesShallow || git.Submodules == v1beta1.SubmodulesRecursive
	if git.SecretRef == nil || !fetchesSubmodules || !usesSSH(git.Repository) ||
		git.CredentialScope != v1beta1.CredentialScopeRepository {
		return nil
	}
	return field.ErrorList{field.Invalid(path, git.CredentialScope,
		"must be Host to fetch submodules with a key for ssh, which cannot be limited to one repository")}
}

// caUse contains the fields that determine whether a bundle of CA certificates is used.
type caUse struct {
	Repository string
	CARef      *v1beta1.CAReference
}

func caUseOf(git *v1beta1.GitSource) caUse {
	return caUse{Repository: git.Repository, CARef: git.CARef}
}

// validateCARef checks the key, and that the repository has a certificate to verify. The
// type declares that exactly one of the names must be set.
func validateCARef(git *v1beta1.GitSource, path *field.Path) field.ErrorList {
	if git.CARef == nil {
		return nil
	}
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsConfigMapKey(git.CARef.Key) {
		errs = append(errs, field.Invalid(path.Child("key"), git.CARef.Key, msg))
	}
	if !strings.HasPrefix(git.Repository, "https://") {
		errs = append(errs, field.Forbidden(path, "may only be set for an https:// repository"))
	}
	return errs
}

// usesSSH reports whether git fetches a valid address over ssh.
func usesSSH(repo string) bool {
	return strings.HasPrefix(repo, "ssh://") || scpAddress.MatchString(repo)
}
