package website

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/deploys"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

const (
	// statusDelay is the time for which a changed status waits for more changes: a Deployment that rolls out
	// changes many times a second. So a status is written at most that often, and a change is visible
	// that soon. Changes of Ready, of the commit, and of completed requests to sync do not wait.
	statusDelay = time.Second
	// commitInterval is the minimum average interval of the writes because of another commit, and
	// commitBurst the burst: pods can report any commit.
	commitInterval = 5 * time.Second
	commitBurst    = 10
)

// report computes and writes the status.
func (r *reconciler) report(ctx context.Context, run *reconciliation, problems []*problem.Problem) *problem.Problem {
	if run.input == nil {
		return nil // A status would be a guess.
	}
	reported, known := reportable(problems, r.queue.NumRequeues(run.key))
	if !known {
		return nil
	}
	in := *run.input
	in.Problem = reported
	computed := status.Compute(&in)
	if wait := status.Recheck(&in, &computed); wait > 0 {
		r.queue.AddAfter(run.key, wait)
	}
	return r.writeStatus(ctx, run, computed, in.Now)
}

// reportable returns the problem to report, if any. The problems are in the order of the steps, and
// the first failure blocks the others. It reports false when it is unknown whether the children match
// the spec, after an error that the next try may resolve.
func reportable(problems []*problem.Problem, requeues int) (*problem.Problem, bool) {
	unknown := false
	for _, p := range problems {
		if p.Reason != "" {
			return p, true
		}
		unknown = unknown || p.Retry == problem.WithBackoff
	}
	if !unknown {
		return nil, true
	}
	for _, p := range problems {
		if lasting := p.Lasting(); requeues >= problem.Persistent && lasting.Reason != "" {
			return lasting, true
		}
	}
	return nil, false
}

// writeStatus writes the status of a Website when it has changed and is due. The write carries the
// resource version of the object from which the status was computed, so it cannot undo a newer one.
func (r *reconciler) writeStatus(ctx context.Context, run *reconciliation, current v1beta1.WebsiteStatus,
	now time.Time) *problem.Problem {
	website := run.website
	changed, wait := run.memory.statusDue(&website.Status, &current, now, r.statusDelay)
	if !changed {
		return nil
	}
	if wait > 0 {
		r.queue.AddAfter(run.key, wait)
		return nil
	}
	update := website.DeepCopy()
	update.ManagedFields = nil // For previews, only the managed fields of the controller are in memory.
	update.Status = current
	written, err := r.client.Websites(update.Namespace).UpdateStatus(ctx, update,
		metav1.UpdateOptions{FieldManager: cached.FieldManager})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return problem.ClassifyOther(fmt.Errorf("writing the status of Website %q: %w", website.Name, err))
	}
	metrics.RecordStatusWrite()
	r.websites.Mutation(written)
	run.memory.statusWritten(&website.Status, &current, now)
	// The times in update are precise, the written ones whole seconds.
	r.reportDeploys(run, update)
	return nil
}

// statusWritten ends the delay of a status after its write.
func (k *remembered) statusWritten(before, after *v1beta1.WebsiteStatus, now time.Time) {
	k.statusChanged = time.Time{}
	k.hasStatus = after.ObservedGeneration != 0
	if !hasAnotherCommit(before, after) {
		return
	}
	if k.commits == nil {
		k.commits = rate.NewLimiter(rate.Every(commitInterval), commitBurst)
	}
	k.commits.AllowN(now, 1)
}

// statusDue reports whether a status has changed, and how long its write waits for more changes, at
// most the delay.
func (k *remembered) statusDue(reported, current *v1beta1.WebsiteStatus, now time.Time,
	delay time.Duration) (changed bool, wait time.Duration) {
	if apiequality.Semantic.DeepEqual(reported, current) {
		k.statusChanged = time.Time{}
		return false, 0
	}
	if isReady(reported) != isReady(current) || !apiequality.Semantic.DeepEqual(reported.Sync, current.Sync) {
		return true, 0
	}
	if hasAnotherCommit(reported, current) {
		return true, deploys.UntilToken(k.commits, now)
	}
	if k.statusChanged.IsZero() {
		k.statusChanged = now
	}
	return true, max(0, delay-now.Sub(k.statusChanged))
}

// hasAnotherCommit reports whether the commit of a Website has changed. It ignores pods that serve
// different commits, because that is over soon.
func hasAnotherCommit(before, after *v1beta1.WebsiteStatus) bool {
	return after.Commit != "" && after.Commit != before.Commit
}

func isReady(status *v1beta1.WebsiteStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady)
}

// reportDeploys passes a started request to sync to the pods, and reports published commits, from the
// written status of a Website.
func (r *reconciler) reportDeploys(run *reconciliation, after *v1beta1.Website) {
	before, deploys := run.website, run.memory.deploys
	// A request that no pod can perform is completed in the same write, and counts as well.
	deploys.Observe(after, r.clock.Now())
	if status.IsSyncPending(before.Status.Sync) && !status.IsSyncPending(after.Status.Sync) {
		deploys.Started(r.clock.Now())
	}
	if status.RunningSync(after.Status.Sync) != status.RunningSync(before.Status.Sync) {
		r.pods.want(after)
	}
	r.events.Published(before, after, deploys.CompletedSync(after))
}
