package resources

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const refFlag = "--ref="

// KeptOn returns a Website whose children keep serving a commit: git-sync
// fetches a full hash once and asks for nothing more. The Website itself is not
// changed.
func KeptOn(site *v1beta1.Website, commit string) *v1beta1.Website {
	site = site.DeepCopy()
	site.Spec.Source.Ref = &v1beta1.GitReference{Commit: commit}
	return site
}

// CommitOf returns the commit that the pods of a Deployment are kept on, or
// nothing when they follow a branch, a tag or the remote's HEAD. The Deployment
// is the record: it outlives the pods, the status and the controller.
func CommitOf(deployment *appsv1.Deployment) string {
	pod := deployment.Spec.Template.Spec
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		if container.Name != GitSyncContainer {
			continue
		}
		for _, arg := range container.Args {
			if ref, found := strings.CutPrefix(arg, refFlag); found && IsCommit(ref) {
				return ref
			}
		}
	}
	return ""
}

// IsCommit reports whether a reference is the full hash of a commit, which can
// never mean another one.
func IsCommit(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdef") == ""
}
