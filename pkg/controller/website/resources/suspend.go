package resources

import (
	"strings"

	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// RefFlag begins the argument of git-sync that names what is published.
const RefFlag = "--ref="

// IsSuspended reports whether a Website does not follow its repository.
func IsSuspended(website *v1beta1.Website) bool {
	return ptr.Deref(website.Spec.Suspend, false)
}

// KeptOn returns a Website whose children keep serving a commit: git-sync
// fetches a full hash once and does not poll for more. The Website itself is not
// changed.
func KeptOn(website *v1beta1.Website, commit string) *v1beta1.Website {
	website = website.DeepCopy()
	if git := website.Spec.Source.Git; git != nil {
		git.Ref = &v1beta1.GitReference{Commit: commit}
	}
	// Until they are replaced, the pods of before stay on it as well.
	website.Spec.Pin = &v1beta1.WebsitePin{Commit: commit}
	return website
}

// IsCommit reports whether a reference is the full hash of a commit, which can
// never mean another one.
func IsCommit(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdef") == ""
}
