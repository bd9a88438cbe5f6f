package website

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// cause is why something is not as it should be, in words for a condition.
type cause struct{ reason, message string }

// persistent is how often in a row an error must come before it is told: most
// are over with the next try.
const persistent = 3

// causeOf returns what a user should know about an error of a pass, or nothing
// when trying again is all there is to do.
func causeOf(err error) *cause {
	var taken *nameTakenError
	var invalid *invalidSpecError
	reason := ""
	switch {
	case errors.As(err, &taken):
		reason = v1beta1.WebsiteReasonNameTaken
	case errors.As(err, &invalid):
		reason = v1beta1.WebsiteReasonSpecInvalid
	case isConflict(err) || isNamespaceTerminating(err):
	case isDenied(err):
		reason = v1beta1.WebsiteReasonAdmissionDenied
	case isNodePortTaken(err):
		reason = v1beta1.WebsiteReasonNodePortTaken
	case isTerminal(err):
		reason = v1beta1.WebsiteReasonSpecInvalid
	case apierrors.IsForbidden(err):
		reason = reasonOfRefusal(err.Error())
	case apierrors.IsInvalid(err) && !isNodePortPassing(err):
		// Without a field it is a policy that speaks.
		reason = v1beta1.WebsiteReasonAdmissionDenied
	}
	if reason == "" {
		return nil
	}
	return &cause{reason, shorten(err.Error())}
}

// reasonOfRefusal tells from the words of a 403 who refuses.
func reasonOfRefusal(message string) string {
	switch {
	case strings.Contains(message, "exceeded quota"), strings.Contains(message, "failed quota"):
		return v1beta1.WebsiteReasonQuotaExceeded
	case strings.Contains(message, `User "`) && strings.Contains(message, " cannot "):
		return v1beta1.WebsiteReasonAccessDenied
	default:
		return v1beta1.WebsiteReasonAdmissionDenied
	}
}

// isTerminal reports whether an error will come again for as long as nobody
// changes the Website: the API server has found a field of a child invalid.
func isTerminal(err error) bool {
	var invalid *invalidSpecError
	if errors.As(err, &invalid) {
		return true
	}
	if isConflict(err) || isDenied(err) || isNodePortTaken(err) || isNodePortPassing(err) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch {
	case apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return true
	case apierrors.IsInvalid(err) && status.Status().Details != nil:
		for _, cause := range status.Status().Details.Causes {
			if cause.Field != "" {
				return true
			}
		}
	}
	return false
}

// isNodePortTaken recognizes the one invalid field that becomes valid when
// somebody else lets go.
func isNodePortTaken(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "provided port is already allocated")
}

// isNodePortPassing recognizes a node port that could not be allocated for want
// of the allocator, which the API server calls invalid all the same: what is
// wrong with the port itself is that it is taken or out of range.
func isNodePortPassing(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), ".nodePort: ") &&
		!isNodePortTaken(err) && !strings.Contains(err.Error(), "not in the valid range")
}

// isDenied recognizes the refusal of an admission webhook. Its code is whatever
// the webhook says, and 400 when it says nothing.
func isDenied(err error) bool {
	return strings.Contains(err.Error(), "admission webhook ") && strings.Contains(err.Error(), " denied the request")
}

// worstCause returns the cause to tell of all the problems of a pass. They are
// in the order of the steps, and what fails first keeps the others from working.
func worstCause(problems []error) *cause {
	for _, err := range problems {
		if found := causeOf(err); found != nil {
			return found
		}
	}
	return nil
}

// isTransient reports whether there is an error among the problems of a pass
// after which it is not known whether the children are as they should be.
func isTransient(problems []error) bool {
	for _, err := range problems {
		if causeOf(err) == nil && !isNamespaceTerminating(err) {
			return true
		}
	}
	return false
}
