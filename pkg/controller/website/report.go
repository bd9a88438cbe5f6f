package website

import (
	"context"
	"fmt"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

const (
	// statusDelay is how long a changed status waits for more changes: a
	// Deployment that rolls out changes many times a second. So a status is
	// written at most that often, and a change is seen that soon. That a website
	// becomes ready, or is no longer, does not wait.
	statusDelay = time.Second
	// persistent is how often in a row an error must come before it is reported:
	// most are over with the next try.
	persistent = 3
)

// reportStatus is the last step of a reconciliation.
func (c *Controller) reportStatus(ctx context.Context, website *v1beta1.Website, state childState, problems []*problem.Problem) (p *problem.Problem) {
	ctx, end := c.startStep(ctx, stepStatus)
	defer func() { end(p) }()

	key := cache.MetaObjectToName(website)
	reported, ok := reportable(problems, c.queue.NumRequeues(key))
	if !state.known || !ok {
		return nil // Whatever would be reported, would be a guess.
	}
	in := c.input(website, state)
	in.Problem = reported
	if wait := status.Recheck(in); wait > 0 {
		c.queue.AddAfter(key, wait)
	}
	return c.writeStatus(ctx, website, status.Compute(in))
}

// input is what the status of a Website is computed from.
func (c *Controller) input(website *v1beta1.Website, state childState) *status.Input {
	return &status.Input{
		Website: website, Deployment: state.deployment, Service: state.service, ServiceTaken: state.serviceTaken,
		Pods: state.pods, Probing: c.prober != nil, Now: c.clock.Now(),
	}
}

// reportable returns the problem to report, if any. The problems are in the order
// of the steps, and what fails first keeps the others from working. It reports
// false when it is not known whether the children follow the spec, after an error
// that may be over with the next try.
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
		if lasting := p.Lasting(); requeues >= persistent && lasting.Reason != "" {
			return lasting, true
		}
	}
	return nil, false
}

// writeStatus writes the status of a Website when it differs from what is there
// and is due. The write carries the resource version of the object that the status
// was computed from, so it cannot undo a newer one.
func (c *Controller) writeStatus(ctx context.Context, website *v1beta1.Website, current v1beta1.WebsiteStatus) *problem.Problem {
	key := cache.MetaObjectToName(website)
	changed, wait := c.writes.due(key, &website.Status, &current, c.clock.Now())
	if !changed {
		return nil
	}
	if wait > 0 {
		c.queue.AddAfter(key, wait)
		return nil
	}
	update := website.DeepCopy()
	update.Status = current
	written, err := c.websites.WebsiteV1beta1().Websites(update.Namespace).
		UpdateStatus(ctx, update, metav1.UpdateOptions{FieldManager: children.FieldManager})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return problem.Classify(fmt.Errorf("writing the status of Website %q: %w", website.Name, err))
	default:
		statusWrites.Inc()
		c.websiteCache.Mutation(written)
		c.writes.forget(key)
		return nil
	}
}

// statusWriteTimes is since when the statuses of Websites differ from what is
// reported.
type statusWriteTimes struct {
	delay time.Duration

	mu    sync.Mutex
	since map[cache.ObjectName]time.Time
}

// forget ends the wait of a Website whose status is reported, or that is gone.
func (w *statusWriteTimes) forget(key cache.ObjectName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, key)
}

// due reports whether a status has changed, and how long it has to wait for more
// changes before it is written.
func (w *statusWriteTimes) due(key cache.ObjectName, reported, current *v1beta1.WebsiteStatus, now time.Time) (changed bool, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if apiequality.Semantic.DeepEqual(reported, current) {
		delete(w.since, key)
		return false, 0
	}
	if isReady(reported) != isReady(current) {
		return true, 0
	}
	since, waiting := w.since[key]
	if !waiting {
		since = now
		w.since[key] = now
	}
	return true, max(0, w.delay-now.Sub(since))
}

func isReady(status *v1beta1.WebsiteStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady)
}
