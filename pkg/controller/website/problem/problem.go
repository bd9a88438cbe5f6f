// Package problem classifies the errors of a reconciliation: their report to users, their result in
// metrics, and the time of the next reconciliation.
package problem

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Problem is the reason why a Website or a child differs from its desired state.
type Problem struct {
	// Reason is the reason of conditions and events. It is empty for problems that a retry resolves:
	// users need not see them.
	Reason string
	// Message is the message of conditions and events.
	Message string
	// Retry determines when the Website is reconciled again.
	Retry Retry
	// RetryAfter is the delay that the API server requests, the minimum delay of a retry.
	RetryAfter time.Duration
	// Result is the result in metrics and traces.
	Result Result
	// ID distinguishes problems with the same reason. Each ID gets its own event.
	ID string
	// Passing is true when the problem resolves itself. It sets a condition, but emits no event.
	Passing bool
	// Apart is true when the site does not depend on it. Its retries and the retries for the site do
	// not delay each other.
	Apart bool

	// child and several are arguments of ChildTaken.
	child, several string

	err error
}

var _ error = &Problem{}

// Retry determines when a Website with a problem is reconciled again.
type Retry int

const (
	// OnChange waits for an event.
	OnChange Retry = iota
	// Periodically is for an obstacle that may disappear without an event.
	Periodically
	// WithBackoff is for an operation that may succeed at the next try.
	WithBackoff
)

// Result is the result of a reconciliation or of a step. A larger one outweighs a smaller one.
type Result int

// The results.
const (
	Success Result = iota
	Taken
	Conflict
	Failure
)

// String returns the result as a label of metrics and traces.
func (r Result) String() string {
	return [...]string{"success", "name_taken", "conflict", "error"}[r]
}

// Error returns the message, untruncated.
func (p *Problem) Error() string { return p.err.Error() }

// Unwrap returns the error that was classified.
func (p *Problem) Unwrap() error { return p.err }

// ResultOf returns the result of a step with a problem. Nil is no problem.
func ResultOf(p *Problem) Result {
	if p == nil {
		return Success
	}
	return p.Result
}

// found returns a problem that the controller has found itself.
func found(reason, id string, retry Retry, result Result, err error) *Problem {
	return &Problem{
		Reason: reason, Message: Shorten(err.Error()), Retry: retry, Result: result, ID: reason + id, err: err,
	}
}

// InvalidSpec returns the problem of a spec from which no children can be built.
func InvalidSpec(err error) *Problem {
	return found(v1beta1.WebsiteReasonSpecInvalid, "", OnChange, Failure, err)
}

// NameTaken returns the problem of a child whose name another object has. The ID identifies that
// object.
func NameTaken(id string, passing bool, format string, args ...any) *Problem {
	p := found(v1beta1.WebsiteReasonNameTaken, "/"+id, Periodically, Taken, fmt.Errorf(format, args...))
	p.Passing = passing
	return p
}

// ChildTaken is NameTaken about an object with the name of a child, such as `Service "kubia-npsvc"`.
// The message has the child and the clause one; for several objects it has the clause several.
func ChildTaken(id string, passing bool, child, one, several string) *Problem {
	p := NameTaken(id, passing, "%s %s", child, one)
	p.child, p.several = child, several
	return p
}

// IsChildTaken reports whether a problem is one of ChildTaken.
func (p *Problem) IsChildTaken() bool { return p.child != "" }

// JoinTaken merges problems of ChildTaken for different children into one. It has the ID of the
// first: the resolution of single ones emits no further events.
func JoinTaken(taken []*Problem) *Problem {
	if len(taken) == 1 {
		return taken[0]
	}
	children := map[string][]string{}
	for _, p := range taken {
		children[p.several] = append(children[p.several], p.child)
	}
	var messages []string
	passing := true
	for _, p := range taken {
		passing = passing && p.Passing
		switch same := children[p.several]; {
		case len(same) == 1:
			messages = append(messages, p.Error())
		case same[0] == p.child:
			messages = append(messages, strings.Join(same, ", ")+" "+p.several)
		}
	}
	joined := NameTaken("", passing, "%s", strings.Join(messages, "; "))
	joined.ID = taken[0].ID
	return joined
}

// ConflictingManager returns the problem of a child that another controller keeps writing. The ID
// identifies that controller.
func ConflictingManager(id string, format string, args ...any) *Problem {
	return found(v1beta1.WebsiteReasonConflictingManager, "/"+id, Periodically, Taken, fmt.Errorf(format, args...))
}

// BeingReplaced returns the problem of a Deployment whose pods another controller is replacing.
func BeingReplaced(deployment string) *Problem {
	p := found(v1beta1.WebsiteReasonRolloutInProgress, "/"+deployment, WithBackoff, Taken, fmt.Errorf(
		"the pods of Deployment %q are being replaced; it is taken over when they are all of one revision", deployment))
	p.Passing = true
	return p
}

// LeftBehind returns the problem of objects that another controller has left, as kubectl names them.
// The Website owns them and does not use them. It emits an event, and does not affect the site.
func LeftBehind(website *v1beta1.Website, objects []string) *Problem {
	command := "kubectl delete -n " + website.Namespace
	for _, object := range objects {
		// A truncated name could be the name of another object. Further objects are reported when
		// these are gone.
		if len(command)+len(object) > maxLength/2 {
			break
		}
		command += " " + object
	}
	return found(v1beta1.WebsiteReasonLeftBehind, "/"+command, OnChange, Success,
		fmt.Errorf("objects of a former deploymentName are left behind: run %q", command))
}

// Persistent is the number of errors in a row after which an error is reported: the next retry
// resolves most.
const Persistent = 3

// Lasting returns the problem to report after several errors in a row. A problem that the next retry
// resolves is not worth a report.
func (p *Problem) Lasting() *Problem {
	if p.Reason != "" || p.Result != Failure {
		return p
	}
	lasting := *p
	lasting.Reason = v1beta1.WebsiteReasonReconcileError
	return &lasting
}

// RetriedSoon returns a problem that is reported only after several tries: one of the next retries
// probably resolves it.
func (p *Problem) RetriedSoon() *Problem {
	soon := *p
	soon.Reason, soon.ID, soon.Retry = "", "", WithBackoff
	return &soon
}

// RetriedApart returns a problem on which the site does not depend, and that has its own condition. A
// request that the API server rejects may succeed later without a change of the Website. Nil is no
// problem.
func (p *Problem) RetriedApart() *Problem {
	if p == nil {
		return nil
	}
	apart := *p
	apart.Reason, apart.Apart, apart.Retry = "", true, max(p.Retry, Periodically)
	return &apart
}

// idOf returns an ID from the reason and the rejected object. The message of an error is no ID: with
// a quota it changes with every pod.
func idOf(reason string, err error) string {
	id := fmt.Sprintf("%s/%s/", reason, apierrors.ReasonForError(err))
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		id += status.Status().Details.Kind + "/" + status.Status().Details.Name
	}
	return id
}

// maxLength is the maximum length of the note of an event in the API server.
const maxLength = 1024

// Shorten truncates a message to the maximum length of an event's note.
func Shorten(message string) string { return ShortenTo(message, maxLength) }

// ShortenTo truncates a message to a length in bytes, on one line.
func ShortenTo(message string, length int) string {
	if len(message) > length {
		message = message[:length-3] + "..."
	}
	// A truncated character would be stored as another one, and unprintable characters take six bytes
	// as JSON.
	message = strings.ToValidUTF8(message, "")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, message)
}
