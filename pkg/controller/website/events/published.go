package events

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// The reasons and the action of the events about published commits.
const (
	reasonPublished     = "Published"
	reasonRolledBack    = "RolledBack"
	reasonSyncFailed    = "SyncFailed"
	reasonPublishFailed = "PublishFailed"

	actionPublish = "Publish"
)

// shortCommit is the length of a commit in events.
const shortCommit = 12

// Published reports the changes of a written status by events and metrics. requested is the time of
// the first observation of a completed request to sync, or zero.
func (r *Reporter) Published(before, after *v1beta1.Website, requested time.Time) {
	if release := newRelease(before, after); release != nil {
		metrics.RecordRelease(release)
		reason, verb := reasonPublished, "published"
		if release.Cause == v1beta1.ReleaseCauseRollback {
			reason, verb = reasonRolledBack, "rolled back to"
		}
		if r.mayReport(after, reason) {
			r.recorder.Eventf(after, nil, corev1.EventTypeNormal, reason, actionPublish, "%s commit %s", verb,
				describeRelease(after, release))
		}
	}
	if completed := newCompletion(before, after); completed != nil {
		metrics.RecordSync(completed, requested)
		if completed.Result == v1beta1.SyncFailed {
			r.recorder.Eventf(after, nil, corev1.EventTypeWarning, reasonSyncFailed, actionPublish, "%s",
				problem.Shorten(completed.Reason+": "+completed.Message))
		}
	}
	r.syncedChanged(before, after)
}

// syncedChanged reports a new problem with fetching or publishing a commit, and new warnings.
func (r *Reporter) syncedChanged(before, after *v1beta1.Website) {
	synced := meta.FindStatusCondition(after.Status.Conditions, v1beta1.WebsiteSynced)
	if synced == nil {
		return
	}
	was := cmp.Or(meta.FindStatusCondition(before.Status.Conditions, v1beta1.WebsiteSynced), &metav1.Condition{})
	isProblem := synced.Status == metav1.ConditionFalse && status.IsFetchProblem(synced.Reason)
	hasWarnings := synced.Reason == v1beta1.WebsiteReasonPublishedWithWarnings
	switch {
	case isProblem && was.Reason != synced.Reason && r.mayReport(after, reasonPublishFailed):
		r.recorder.Eventf(after, nil, corev1.EventTypeWarning, reasonPublishFailed, actionPublish, "%s",
			problem.Shorten(synced.Reason+": "+synced.Message))
	case hasWarnings && (was.Reason != synced.Reason || was.Message != synced.Message) &&
		r.mayReport(after, synced.Reason):
		r.recorder.Eventf(after, nil, corev1.EventTypeWarning, synced.Reason, actionPublish, "%s", synced.Message)
	}
}

// newRelease returns the release that was added to the history, or nil. The first entry of a Website
// that was published before the history existed is not new.
func newRelease(before, after *v1beta1.Website) *v1beta1.WebsiteRelease {
	now, was := after.Status.History, before.Status.History
	if len(now) == 0 || len(was) > 0 && was[0].Commit == now[0].Commit || len(was) == 0 && before.Status.Commit != "" {
		return nil
	}
	return &now[0]
}

func newCompletion(before, after *v1beta1.Website) *v1beta1.WebsiteSyncCompletion {
	if after.Status.Sync == nil || after.Status.Sync.LastCompleted == nil {
		return nil
	}
	completed := after.Status.Sync.LastCompleted
	if was := before.Status.Sync; was != nil && was.LastCompleted != nil && was.LastCompleted.ID == completed.ID {
		return nil
	}
	return completed
}

// describeRelease describes a release like one line of a log.
func describeRelease(website *v1beta1.Website, release *v1beta1.WebsiteRelease) string {
	line := strings.Builder{}
	line.WriteString(release.Commit[:min(len(release.Commit), shortCommit)])
	if release.Subject != "" {
		fmt.Fprintf(&line, " %q", release.Subject)
	}
	if release.Author != "" {
		line.WriteString(" by " + release.Author)
	}
	line.WriteString(" (" + string(release.Cause))
	if sync := website.Status.Sync; release.Cause == v1beta1.ReleaseCauseSync && sync != nil &&
		sync.LastRequest.By != "" && sync.LastRequest.ID == sync.StartedID {
		line.WriteString(" by " + sync.LastRequest.By)
	}
	if observed := release.ObservedTime; observed != nil {
		fmt.Fprintf(&line, ", after %v", release.PublishedTime.Sub(observed.Time).Round(time.Millisecond))
	}
	line.WriteString(")")
	return line.String()
}
