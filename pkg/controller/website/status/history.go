package status

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// maxHistory is the maximum number of reported releases.
const maxHistory = 10

// Origin has the cause of the next release, as this controller remembers it. It is zero for causes
// before the start of the controller.
type Origin struct {
	// SpecChanged is true if not all pods have served the spec since its change, which was observed
	// at SpecChangedTime.
	SpecChanged     bool
	SpecChangedTime time.Time
	// SeenTime is the time of the first observation of the commit that all ready pods serve.
	SeenTime time.Time
}

// history returns the releases to report: a commit becomes one once all ready pods serve it. The
// times of a new release are precise in memory, for metrics and events, and whole seconds in the
// status.
func (in *Input) history() []v1beta1.WebsiteRelease {
	reported := in.Website.Status.History
	commit, state := commitOf(in.Pods)
	if !in.Probing || state != commitAgreed {
		return reported
	}
	subject, author := in.describeCommit()
	if len(reported) > 0 && (reported[0].Commit == commit || in.replaces(commit, reported[0].Commit)) {
		if reported[0].Commit == commit && (reported[0].Subject != "" || subject == "") {
			return reported
		}
		// The content is the same.
		described := slices.Clone(reported)
		described[0].Commit, described[0].Subject, described[0].Author = commit, subject, author
		return described
	}
	published := v1beta1.WebsiteRelease{
		Commit: commit, Subject: subject, Author: author, PublishedTime: metav1.NewTime(in.Now),
	}
	var since time.Time
	if published.Cause, since = in.cause(commit); !since.IsZero() {
		if since.After(in.Now) {
			since = in.Now // The clock was set back.
		}
		published.ObservedTime = ptr.To(metav1.NewTime(since))
	}
	history := append([]v1beta1.WebsiteRelease{published}, reported...)
	return history[:min(len(history), maxHistory)]
}

// cause returns the reason why the pods serve a new commit, and the time since when they should, or
// zero.
func (in *Input) cause(commit string) (v1beta1.ReleaseCause, time.Time) {
	website := in.Website
	switch {
	case len(website.Status.History) == 0 && website.Status.Commit != "":
		// The commit was published before the history existed.
		return v1beta1.ReleaseCauseSpec, time.Time{}
	case len(website.Status.History) == 0 && website.Generation == 1:
		return v1beta1.ReleaseCauseSpec, website.CreationTimestamp.Time
	case len(website.Status.History) == 0:
		return v1beta1.ReleaseCauseSpec, in.Origin.SpecChangedTime
	case website.Spec.PinnedCommit() == commit && website.Spec.Pin.Cause != v1beta1.PinCauseSuspend:
		return v1beta1.ReleaseCauseRollback, in.Origin.SpecChangedTime
	case in.Origin.SpecChanged:
		return v1beta1.ReleaseCauseSpec, in.Origin.SpecChangedTime
	case RunningSync(website.Status.Sync) != 0 && !in.seenBefore(in.SyncRequest.Begun):
		return v1beta1.ReleaseCauseSync, in.SyncRequest.Observed
	default:
		return v1beta1.ReleaseCausePoll, in.Origin.SeenTime
	}
}

func (in *Input) seenBefore(begun time.Time) bool {
	return !in.Origin.SeenTime.IsZero() && in.Origin.SeenTime.Before(begun)
}

// replaces reports whether the commit of a ready pod has the content of an earlier one.
func (in *Input) replaces(commit, earlier string) bool {
	return slices.ContainsFunc(in.Pods, func(pod Pod) bool {
		return pod.Ready && pod.Commit == commit && strings.Contains(pod.Replaced, earlier)
	})
}

// describeCommit returns the subject and the author of the commit of the ready pods.
func (in *Input) describeCommit() (subject, author string) {
	for _, pod := range in.Pods {
		if pod.Ready && pod.Subject != "" {
			return pod.Subject, pod.Author
		}
	}
	return "", ""
}
