// Package problem decides once what an error of a reconciliation means: what
// is reported to users, how metrics count it, and when the Website is reconciled again.
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

// Problem is why a Website or a child of it is not what it should be.
type Problem struct {
	// Reason is the reason of conditions and events. It is empty when users need
	// not know, because a retry is all there is to do.
	Reason string
	// Message is for conditions and events.
	Message string
	// Retry is when the Website is reconciled again.
	Retry Retry
	// RetryAfter is the delay that the API server requests. The wait is not shorter.
	RetryAfter time.Duration
	// Result is how metrics and traces count the problem.
	Result Result
	// ID tells the problem from others of the same reason: each is worth an event.
	ID string
	// Passing is true when the problem resolves itself. It is worth a condition, but
	// no event.
	Passing bool
	// Apart is true when the site does not depend on it: neither is the wait of what the site depends
	// on prolonged by it, nor the other way round.
	Apart bool

	// child and several are those of ChildTaken.
	child, several string

	err error
}

var _ error = &Problem{}

// Retry is when a Website with a problem is reconciled again.
type Retry int

const (
	// OnChange waits for an event.
	OnChange Retry = iota
	// Periodically is for what is in the way and may go without an event.
	Periodically
	// WithBackoff is for what may succeed at the next try.
	WithBackoff
)

// Result is how a reconciliation or a step of it ended. A larger one outweighs a
// smaller.
type Result int

// The results.
const (
	Success Result = iota
	Taken
	Conflict
	Failure
)

// String returns the result as metrics and traces name it.
func (r Result) String() string {
	return [...]string{"success", "name_taken", "conflict", "error"}[r]
}

// Error returns the message, uncut.
func (p *Problem) Error() string { return p.err.Error() }

// Unwrap returns the error that was classified.
func (p *Problem) Unwrap() error { return p.err }

// ResultOf returns the result of a step, which had a problem or none.
func ResultOf(p *Problem) Result {
	if p == nil {
		return Success
	}
	return p.Result
}

// InvalidSpec returns the problem that no children can be built from a spec.
func InvalidSpec(err error) *Problem {
	return &Problem{
		Reason: v1beta1.WebsiteReasonSpecInvalid, Message: Shorten(err.Error()), Retry: OnChange, Result: Failure,
		ID: v1beta1.WebsiteReasonSpecInvalid, err: err,
	}
}

// NameTaken returns the problem that the name of a child belongs to something
// else, which the ID identifies.
func NameTaken(id string, passing bool, format string, args ...any) *Problem {
	err := fmt.Errorf(format, args...)
	return &Problem{
		Reason: v1beta1.WebsiteReasonNameTaken, Message: Shorten(err.Error()), Retry: Periodically, Result: Taken,
		ID: v1beta1.WebsiteReasonNameTaken + "/" + id, Passing: passing, err: err,
	}
}

// ChildTaken is NameTaken about an object with the name of a child, such as `Service "kubia-npsvc"`. The message is
// that and the first clause; the second is for several objects.
func ChildTaken(id string, passing bool, child, one, several string) *Problem {
	p := NameTaken(id, passing, "%s %s", child, one)
	p.child, p.several = child, several
	return p
}

// IsChildTaken reports whether a problem is one of ChildTaken.
func (p *Problem) IsChildTaken() bool { return p.child != "" }

// JoinTaken returns one problem for several of ChildTaken, of different children. Its ID is that of the first: that the
// others go one after the other is not worth an event each.
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

// ConflictingManager returns the problem that another controller writes a child, which the
// ID identifies, all the time.
func ConflictingManager(id string, format string, args ...any) *Problem {
	err := fmt.Errorf(format, args...)
	return &Problem{
		Reason: v1beta1.WebsiteReasonConflictingManager, Message: Shorten(err.Error()), Retry: Periodically, Result: Taken,
		ID: v1beta1.WebsiteReasonConflictingManager + "/" + id, err: err,
	}
}

// BeingReplaced returns the problem that the pods of a Deployment are being replaced by others than this controller.
func BeingReplaced(deployment string) *Problem {
	err := fmt.Errorf("the pods of Deployment %q are being replaced; it is taken over when they are all of one revision",
		deployment)
	return &Problem{
		Reason: v1beta1.WebsiteReasonRolloutInProgress, Message: Shorten(err.Error()), Retry: WithBackoff, Result: Taken,
		ID: v1beta1.WebsiteReasonRolloutInProgress + "/" + deployment, Passing: true, err: err,
	}
}

// LeftBehind returns the problem that another controller has left objects, as kubectl names them, that the Website owns
// and does not use. It is worth an event, and keeps nothing from working.
func LeftBehind(website *v1beta1.Website, objects []string) *Problem {
	command := "kubectl delete -n " + website.Namespace
	for _, object := range objects {
		// Half a name could be that of something else. The others are reported when these are gone.
		if len(command)+len(object) > maxLength/2 {
			break
		}
		command += " " + object
	}
	err := fmt.Errorf("objects of a former deploymentName are left behind: run %q", command)
	return &Problem{
		Reason: v1beta1.WebsiteReasonLeftBehind, Message: Shorten(err.Error()), Retry: OnChange, Result: Success,
		ID: v1beta1.WebsiteReasonLeftBehind + "/" + command, err: err,
	}
}

// Persistent is how many times in a row an error must occur before it is reported: the next retry resolves most.
const Persistent = 3

// Lasting returns a problem as it is reported once it has come several times in a
// row: what the next retry resolves is nothing that users need to know.
func (p *Problem) Lasting() *Problem {
	if p.Reason != "" || p.Result != Failure {
		return p
	}
	lasting := *p
	lasting.Reason = v1beta1.WebsiteReasonReconcileError
	return &lasting
}

// RetriedSoon returns a problem that is probably over with one of the next tries, and not
// reported before these are.
func (p *Problem) RetriedSoon() *Problem {
	soon := *p
	soon.Reason, soon.ID, soon.Retry = "", "", WithBackoff
	return &soon
}

// RetriedApart returns a problem on which the site does not depend, and that has a condition of its own. What
// the API server refuses can be allowed without a change of the Website. Nil is no problem.
func (p *Problem) RetriedApart() *Problem {
	if p == nil {
		return nil
	}
	apart := *p
	apart.Reason, apart.Apart, apart.Retry = "", true, max(p.Retry, Periodically)
	return &apart
}

// idOf names a refusal and what the API server refused to write. The message of
// the refusal is no ID: with a quota it changes with every pod.
func idOf(reason string, err error) string {
	id := fmt.Sprintf("%s/%s/", reason, apierrors.ReasonForError(err))
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		id += status.Status().Details.Kind + "/" + status.Status().Details.Name
	}
	return id
}

// maxLength is what the API server accepts as the note of an event.
const maxLength = 1024

// Shorten cuts a message to the length that events can hold.
func Shorten(message string) string { return ShortenTo(message, maxLength) }

// ShortenTo cuts a message to a length in bytes, on one line.
func ShortenTo(message string, length int) string {
	if len(message) > length {
		message = message[:length-3] + "..."
	}
	// What is left of a character is stored as another one, and characters that do not print take six bytes as JSON.
	message = strings.ToValidUTF8(message, "")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, message)
}
