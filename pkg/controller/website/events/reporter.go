// Package events reports to the users of a Website by events: changes of its children, published
// commits, and problems.
package events

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// The reasons of the events on a Website. Warnings have the reasons of conditions.
const (
	reasonCreated = "Created"
	reasonUpdated = "Updated"
	reasonAdopted = "Adopted"
	reasonDeleted = "Deleted"
)

// The actions of the events on a Website.
const (
	actionCreate = "Create"
	actionApply  = "Apply"
	actionDelete = "Delete"
)

const (
	// writeEventBurst and writeEventInterval limit the events about written children. A child that
	// another client keeps editing is restored each time, which should not fill the event store.
	writeEventBurst    = 20
	writeEventInterval = time.Minute
	// publishEventBurst and publishEventInterval limit the events about published commits: pods can
	// report another commit all the time.
	publishEventBurst    = 10
	publishEventInterval = 5 * time.Second
)

// Reporter reports to the users of a Website by events. It remembers the reports about each Website,
// so that a problem is reported once while it lasts.
type Reporter struct {
	recorder clientevents.EventRecorder
	reported func(*v1beta1.Website) *Reported
}

// Reported has the reports about one Website.
type Reported struct {
	// problems are the IDs of the current problems. Nil if there are none.
	problems sets.Set[string]
	// writes, publishes and rollbacks limit the events about children, releases and rollbacks. Pods
	// that report another commit all the time do not suppress events of rollbacks. They are nil
	// before the first event to save memory.
	writes, publishes, rollbacks *rate.Limiter
}

// NewReporter returns a Reporter. Its reports about a Website are kept in the result of reported.
func NewReporter(recorder clientevents.EventRecorder, reported func(*v1beta1.Website) *Reported) *Reporter {
	return &Reporter{recorder: recorder, reported: reported}
}

// allow reports whether the limit permits another event.
func allow(limiter **rate.Limiter, interval time.Duration, burst int) bool {
	if *limiter == nil {
		*limiter = rate.NewLimiter(rate.Every(interval), burst)
	}
	return (*limiter).Allow()
}

func (r *Reporter) mayReportWrite(website *v1beta1.Website) bool {
	return allow(&r.reported(website).writes, writeEventInterval, writeEventBurst)
}

// mayReport reports whether the limit permits another event about published commits.
func (r *Reporter) mayReport(website *v1beta1.Website, reason string) bool {
	known := r.reported(website)
	if reason == reasonRolledBack {
		return allow(&known.rollbacks, publishEventInterval, publishEventBurst)
	}
	return allow(&known.publishes, publishEventInterval, publishEventBurst)
}

// namedObject is a child in an event.
type namedObject interface {
	runtime.Object
	GetName() string
}

// ChildWritten reports the write of a child and its cause: it was missing, had drifted, was an
// orphan, or the spec changed.
func (r *Reporter) ChildWritten(website *v1beta1.Website, child namedObject, kind fmt.Stringer,
	done children.Operation) {
	reason, action := reasonUpdated, actionApply
	switch done {
	case children.Created:
		reason, action = reasonCreated, actionCreate
	case children.Updated:
	case children.Adopted:
		reason = reasonAdopted
	default:
		return
	}
	if r.mayReportWrite(website) {
		r.recorder.Eventf(website, child, corev1.EventTypeNormal, reason, action, "%s %s %q", reason, kind, child.GetName())
	}
}

// PreviewRemoved reports that the preview of a branch was deleted.
func (r *Reporter) PreviewRemoved(website, preview *v1beta1.Website, why string) {
	if r.mayReportWrite(website) {
		r.recorder.Eventf(website, preview, corev1.EventTypeNormal, reasonDeleted, actionDelete, "Deleted %s %q: %s",
			resources.Kind, preview.Name, why)
	}
}

// NodePortLost reports that the node port of a deleted Service was taken before the
// Service was created again.
func (r *Reporter) NodePortLost(website *v1beta1.Website, service *cached.Service, port int32) {
	r.recorder.Eventf(website, service, corev1.EventTypeWarning, v1beta1.WebsiteReasonNodePortTaken, actionCreate,
		"node port %d is no longer available, Service %q has another one; set spec.service.nodePort to keep a port",
		port, service.Name)
}

// Report reports the problems that the previous reconciliation did not have.
func (r *Reporter) Report(website *v1beta1.Website, problems []*problem.Problem) {
	for _, p := range r.unreported(website, problems) {
		r.recorder.Eventf(website, nil, corev1.EventTypeWarning, p.Reason, actionApply, "%s", p.Message)
	}
}

// unreported remembers the problems and returns the new ones: unknown both from the previous
// reconciliation and, after a restart, from the status. Problems that are over are forgotten, unless
// the reconciliation ended early: that does not show that they are over.
func (r *Reporter) unreported(website *v1beta1.Website, problems []*problem.Problem) []*problem.Problem {
	known := r.reported(website)
	current, cutShort := sets.New[string](), false
	var unreported []*problem.Problem
	for _, p := range problems {
		switch {
		case p.Reason == "":
			cutShort = true
		case p.Passing:
		case !known.problems.Has(p.ID) && !current.Has(p.ID) && !isInStatus(website, p):
			unreported = append(unreported, p)
			fallthrough
		default:
			current.Insert(p.ID)
		}
	}
	if cutShort {
		current = current.Union(known.problems)
	}
	if known.problems = current; len(current) == 0 {
		known.problems = nil
	}
	return unreported
}

// isInStatus reports whether the status of a Website has the problem already: the controller that
// wrote the status has reported it.
func isInStatus(website *v1beta1.Website, p *problem.Problem) bool {
	if p.Reason == v1beta1.WebsiteReasonLeftBehind {
		ready := meta.FindStatusCondition(website.Status.Conditions, v1beta1.WebsiteReady)
		return ready != nil && strings.HasSuffix(ready.Message, p.Message)
	}
	before := meta.FindStatusCondition(website.Status.Conditions, v1beta1.WebsiteProgressing)
	if before == nil {
		return false
	}
	again := metav1.Condition{Status: metav1.ConditionFalse, Reason: p.Reason, Message: p.Message,
		ObservedGeneration: website.Generation}
	return status.SameExceptWording(before, &again) || before.Reason == again.Reason && before.Message == again.Message
}
