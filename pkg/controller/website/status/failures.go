package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// conditionReasons returns the reasons of the conditions for some failures.
func conditionReasons(is func(workload.Failure) bool) sets.Set[string] {
	reasons := sets.New[string]()
	for _, failure := range workload.Failures {
		if is(failure) {
			reasons.Insert(failure.Condition)
		}
	}
	return reasons
}

// fetchFailure returns the reason why a pod cannot fetch. It ignores a single failed fetch: the next
// one may succeed.
func fetchFailure(website *v1beta1.Website, observed workload.Observation) *finding {
	if observed.Failure == "" {
		return nil
	}
	found := explainFetch(website, observed.Failure)
	found.transient = !observed.FailedTwice
	return found
}

// explainFetch returns the finding for a failure. Its message never contains the output of a program.
func explainFetch(website *v1beta1.Website, failure git.Reason) *finding {
	failure = workload.KnownReason(failure)
	found := &finding{reason: workload.Failures[failure].Condition, message: (&git.Error{Reason: failure}).Error()}
	source, pin := resources.Git(website), website.Spec.PinnedCommit()
	if source.SecretRef != nil {
		found.message = strings.Replace(found.message, "the Secret of", fmt.Sprintf("Secret %q of", source.SecretRef.Name), 1)
	}
	switch {
	case pin != "" && (failure == git.ReasonRefNotFound || failure == git.ReasonCommitRefused):
		found.reason = v1beta1.WebsiteReasonCommitRefused
		found.message = "the repository does not have commit " + pin + " of spec.pin, or its server does not send it: " +
			"check that a branch or tag contains it"
	case failure == git.ReasonAuthentication && source.SecretRef == nil:
		found.message = "the repository requires credentials, or does not exist: set spec.source.git.secretRef to a Secret " +
			"with credentials"
	case failure == git.ReasonSubmodule && source.SecretRef != nil &&
		source.CredentialScope != v1beta1.CredentialScopeHost:
		found.message += "; the credentials are sent to other repositories of the host only if " +
			"spec.source.git.credentialScope is Host"
	case failure == git.ReasonUnknown:
		found.message = fmt.Sprintf("fetching the repository fails: see \"kubectl logs --selector controller=%s "+
			"--container %s\"", website.Name, resources.GitSyncContainer)
	}
	return found
}
