package website

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// The reasons of the events on a Website. Those of warnings are the
// reasons of conditions.
const (
	reasonCreated = "Created"
	reasonUpdated = "Updated"
	reasonAdopted = "Adopted"
)

// The actions of the events on a Website.
const (
	actionCreate = "Create"
	actionApply  = "Apply"
)

const (
	// writeEventBurst and writeEventInterval bound the events about children
	// that were written. Whoever edits a child over and over has it repaired
	// over and over, and should not fill the event store with that.
	writeEventBurst    = 20
	writeEventInterval = time.Minute

	// maxNoteLength is what the API server accepts as the note of an event.
	maxNoteLength = 1024
)

// reporter tells the user about a Website, by events. It remembers what it said
// about which Website, so that a problem is told once while it lasts.
type reporter struct {
	recorder events.EventRecorder

	mu    sync.Mutex
	sites map[cache.ObjectName]*memory
}

// memory is what the reporter knows of one Website.
type memory struct {
	uid      types.UID
	problems sets.Set[string]
	writes   flowcontrol.PassiveRateLimiter
}

func newReporter(recorder events.EventRecorder) *reporter {
	return &reporter{recorder: recorder, sites: map[cache.ObjectName]*memory{}}
}

// forget drops what is known of a Website that is gone.
func (r *reporter) forget(key cache.ObjectName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sites, key)
}

// remember returns the memory of a Website. The caller holds the lock.
func (r *reporter) remember(site *v1beta1.Website) *memory {
	key := cache.MetaObjectToName(site)
	known := r.sites[key]
	if known == nil || known.uid != site.UID {
		known = &memory{
			uid:      site.UID,
			problems: sets.New[string](),
			writes:   flowcontrol.NewTokenBucketPassiveRateLimiter(float32(1/writeEventInterval.Seconds()), writeEventBurst),
		}
		r.sites[key] = known
	}
	return known
}

func (r *reporter) mayReportWrite(site *v1beta1.Website) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.remember(site).writes.TryAccept()
}

// wrote tells what was done to a child: it was created, had drifted, was an
// orphan, or the spec changed.
func (r *reporter) wrote(site *v1beta1.Website, child object, kind string, done outcome) {
	reason, action := reasonUpdated, actionApply
	switch done {
	case created:
		reason, action = reasonCreated, actionCreate
	case updated:
	case adopted:
		reason = reasonAdopted
	default:
		return
	}
	if r.mayReportWrite(site) {
		r.recorder.Eventf(site, child, corev1.EventTypeNormal, reason, action, "%s %s %q", reason, kind, child.GetName())
	}
}

// problem is something that the user of a Website should know.
type problem struct {
	key, reason, message string
}

// report tells the problems of a pass that were not there in the one before.
func (r *reporter) report(ctx context.Context, site *v1beta1.Website, errs []error) {
	var problems []problem
	conclusive := true
	for _, err := range errs {
		var taken *nameTakenError
		switch found := causeOf(err); {
		case errors.As(err, &taken) && taken.passing:
			klog.FromContext(ctx).V(2).Info("Waiting for the children of a deleted Website to go", "err", err)
		case errors.As(err, &taken):
			problems = append(problems, problem{key: taken.key(), reason: found.reason, message: found.message})
		case found != nil:
			problems = append(problems, problem{
				key: fmt.Sprintf("%s/%s/%s", found.reason, apierrors.ReasonForError(err), affected(err)), reason: found.reason, message: found.message,
			})
		default:
			// A pass that was cut short does not show that an older problem is
			// over.
			conclusive = false
		}
	}
	for _, p := range r.news(site, problems, conclusive) {
		r.recorder.Eventf(site, nil, corev1.EventTypeWarning, p.reason, actionApply, "%s", p.message)
	}
}

// news remembers the problems and returns those that were not known, be it from
// an earlier pass or, after a restart, from the status. Problems that are over
// are forgotten, unless the pass was not conclusive.
func (r *reporter) news(site *v1beta1.Website, problems []problem, conclusive bool) []problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.remember(site)
	current := sets.New[string]()
	var fresh []problem
	for _, p := range problems {
		if !known.problems.Has(p.key) && !current.Has(p.key) && !isInStatus(site, p) {
			fresh = append(fresh, p)
		}
		current.Insert(p.key)
	}
	if conclusive {
		known.problems = current
	} else {
		known.problems = known.problems.Union(current)
	}
	return fresh
}

// isInStatus reports whether the status of a Website says what is to be told:
// whoever wrote it there told it.
func isInStatus(site *v1beta1.Website, p problem) bool {
	said := meta.FindStatusCondition(site.Status.Conditions, v1beta1.WebsiteProgressing)
	if said == nil {
		return false
	}
	again := condition(v1beta1.WebsiteProgressing, metav1.ConditionFalse, p.reason, p.message)
	again.ObservedGeneration = site.Generation
	return sameButForTheMessage(said, &again) || said.Reason == again.Reason && said.Message == again.Message
}

// affected names what the API server refused to write. The message of the
// refusal is no key: with a quota it changes with every pod.
func affected(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		return status.Status().Details.Kind + "/" + status.Status().Details.Name
	}
	return ""
}

func shorten(note string) string {
	if len(note) <= maxNoteLength {
		return note
	}
	return note[:maxNoteLength-3] + "..."
}
