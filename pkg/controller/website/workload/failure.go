package workload

import (
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Failure is the report of a repository that cannot be fetched, or of a commit that cannot be
// published.
type Failure struct {
	// Condition is the reason of the condition Synced.
	Condition string
	// ByUser is true if only a user can resolve it, by changing the Website or an object that it
	// refers to. The others may resolve themselves: a Secret or ConfigMap is updated, or the host is
	// reachable again.
	ByUser bool
}

// Failures has all reasons of the agent.
var Failures = map[git.Reason]Failure{
	git.ReasonAuthentication:     {v1beta1.WebsiteReasonAuthenticationFailed, true},
	git.ReasonCAInvalid:          {v1beta1.WebsiteReasonCAInvalid, true},
	git.ReasonCAMissing:          {v1beta1.WebsiteReasonCAMissing, false},
	git.ReasonCertificate:        {v1beta1.WebsiteReasonRepositoryCertificateInvalid, true},
	git.ReasonCommitInvalid:      {v1beta1.WebsiteReasonCommitInvalid, true},
	git.ReasonCommitRefused:      {v1beta1.WebsiteReasonCommitRefused, true},
	git.ReasonCredentialsMissing: {v1beta1.WebsiteReasonCredentialsMissing, false},
	git.ReasonDowngrade:          {v1beta1.WebsiteReasonProtocolRefused, true},
	git.ReasonEmpty:              {v1beta1.WebsiteReasonRepositoryEmpty, true},
	git.ReasonHead:               {v1beta1.WebsiteReasonHeadNotFound, true},
	git.ReasonHostKey:            {v1beta1.WebsiteReasonHostKeyMismatch, true},
	git.ReasonKnownHosts:         {v1beta1.WebsiteReasonKnownHostsMissing, false},
	git.ReasonMemory:             {v1beta1.WebsiteReasonSyncOutOfMemory, false},
	git.ReasonNotFound:           {v1beta1.WebsiteReasonRepositoryNotFound, true},
	git.ReasonPathNotFound:       {v1beta1.WebsiteReasonPathNotFound, true},
	git.ReasonRefNotFound:        {v1beta1.WebsiteReasonRefNotFound, true},
	git.ReasonStorageFull:        {v1beta1.WebsiteReasonStorageFull, true},
	git.ReasonSubmodule:          {v1beta1.WebsiteReasonSubmoduleFailing, false},
	git.ReasonTimedOut:           {v1beta1.WebsiteReasonRepositoryTimedOut, false},
	git.ReasonTooLarge:           {v1beta1.WebsiteReasonRepositoryTooLarge, true},
	git.ReasonUnknown:            {v1beta1.WebsiteReasonSyncFailing, false},
	git.ReasonUnreachable:        {v1beta1.WebsiteReasonRepositoryUnreachable, false},
	git.ReasonWebPage:            {v1beta1.WebsiteReasonWebPageAnswered, true},
}

// KnownReason returns a reason of Failures: ReasonUnknown for any other.
func KnownReason(reason git.Reason) git.Reason {
	if _, known := Failures[reason]; known {
		return reason
	}
	return git.ReasonUnknown
}
