package problem

import (
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// classes are the errors of the API server with a reason of their own. The first match decides.
var classes = []struct {
	matches func(error) bool
	reason  string
	retry   Retry
	result  Result
	// advice is added to the message of the API server.
	advice string
}{
	{isDenied, v1beta1.WebsiteReasonAdmissionDenied, WithBackoff, Failure, ""},
	{isConflict, "", WithBackoff, Conflict, ""},
	{isNamespaceTerminating, "", OnChange, Success, ""},
	{isNodePortTaken, v1beta1.WebsiteReasonNodePortTaken, Periodically, Taken, ""},
	{isNodePortsExhausted, v1beta1.WebsiteReasonNodePortsExhausted, Periodically, Taken,
		"; set spec.service.type to ClusterIP, which needs no node port, or extend --service-node-port-range of " +
			"kube-apiserver"},
	{isNodePortPassing, "", WithBackoff, Failure, ""},
	// An administrator may extend the range.
	{isNodePortOutOfRange, v1beta1.WebsiteReasonSpecInvalid, Periodically, Failure, ""},
	{isTerminal, v1beta1.WebsiteReasonSpecInvalid, OnChange, Failure, ""},
	// Without a field, a policy has rejected the request.
	{apierrors.IsInvalid, v1beta1.WebsiteReasonAdmissionDenied, WithBackoff, Failure, ""},
}

// Classify returns the problem for an error of the API server. Nil is no problem.
func Classify(err error) *Problem {
	if err == nil {
		return nil
	}
	p := &Problem{Message: Shorten(err.Error()), Retry: WithBackoff, Result: Failure, err: err}
	if apierrors.IsForbidden(err) {
		p.Reason = RefusalReason(err.Error())
	}
	for _, class := range classes {
		if class.matches(err) {
			p.Reason, p.Retry, p.Result = class.reason, class.retry, class.result
			p.Message = Shorten(err.Error() + class.advice)
			break
		}
	}
	if p.Reason != "" {
		p.ID = idOf(p.Reason, err)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && p.Result == Failure {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// ClassifyOther is Classify for a request without values from a spec, such as a read. An invalid
// error is then not about the spec: it may come from a proxy, or from an older server during an
// upgrade.
func ClassifyOther(err error) *Problem {
	p := Classify(err)
	if p != nil && p.Reason == v1beta1.WebsiteReasonSpecInvalid {
		p.Reason, p.ID, p.Retry = "", "", WithBackoff
	}
	return p
}

// RefusalReason returns the reason of a 403, according to its message.
func RefusalReason(message string) string {
	switch {
	case strings.Contains(message, "exceeded quota"), strings.Contains(message, "failed quota"):
		return v1beta1.WebsiteReasonQuotaExceeded
	case strings.Contains(message, `User "`) && strings.Contains(message, " cannot "):
		return v1beta1.WebsiteReasonAccessDenied
	default:
		return v1beta1.WebsiteReasonAdmissionDenied
	}
}

// isDenied recognizes a request that an admission webhook has denied. The webhook
// chooses the code; the default is 400.
func isDenied(err error) bool {
	return strings.Contains(err.Error(), "admission webhook ") && strings.Contains(err.Error(), " denied the request")
}

// isConflict reports whether a write was rejected because the object is not the intended one. For an
// apply with a UID the API server has two such errors: a conflict when there is no object of that
// name any more, invalid when there is another one, since a UID is immutable.
func isConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInvalid(err) &&
		slices.ContainsFunc(causesOf(err), func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// isNamespaceTerminating reports whether a child could not be created because its namespace is being
// deleted, and the Website with it.
func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// isNodePortTaken reports whether an error is about a node port that another Service has. This is the
// only invalid field that can become valid without a change.
func isNodePortTaken(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "provided port is already allocated")
}

// isNodePortsExhausted reports whether no node port is free. The API server reports it as an internal
// error until another Service is deleted.
func isNodePortsExhausted(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed to allocate a nodePort") &&
		strings.Contains(err.Error(), "range is full")
}

// isNodePortPassing reports whether a node port could not be allocated because the allocator was
// unavailable. The API server reports it as invalid; an invalid port itself is either taken or out of
// range.
func isNodePortPassing(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), ".nodePort: ") && !isNodePortOutOfRange(err)
}

// isNodePortOutOfRange reports whether a node port is outside the range of kube-apiserver.
func isNodePortOutOfRange(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "provided port is not in the valid range")
}

// isTerminal reports whether an error recurs until the Website changes: the API server has found a
// field of a child invalid.
func isTerminal(err error) bool {
	return apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsInvalid(err) &&
		slices.ContainsFunc(causesOf(err), func(cause metav1.StatusCause) bool { return cause.Field != "" })
}

func causesOf(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}
