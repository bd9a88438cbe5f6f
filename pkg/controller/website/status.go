package website

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// reportStatus is the last step of a pass: it says what there is to say about
// the Website.
func (c *Controller) reportStatus(ctx context.Context, p *pass) error {
	if !p.known {
		return nil // When nobody knows whether there is a Deployment, zero would be a lie.
	}
	key := cache.MetaObjectToName(p.site)
	p.site = c.statuses.latest(key, p.site)
	if p.deployment.found && c.statuses.outdated(key, p.deployment.child, c.clock.Now()) {
		return nil // The cache shows less than was known before; its next event brings the rest.
	}
	problem := worstCause(p.problems)
	if problem == nil && isTransient(p.problems) {
		// It is not known whether the children follow the spec. Most errors are
		// over with the next try; those that are not must be told.
		if c.queue.NumRequeues(key) < persistent {
			return nil
		}
		if problem = lasting(p.problems); problem == nil {
			return nil
		}
	}
	v := c.view(p, problem)
	if wait := v.recheck(); wait > 0 {
		c.again(p, wait)
	}
	return c.writeStatus(ctx, p, v.status())
}

// lasting returns a cause for errors that have come several times in a row.
func lasting(problems []error) *cause {
	for _, err := range problems {
		if !isConflict(err) && !isNamespaceTerminating(err) {
			return &cause{v1beta1.WebsiteReasonReconcileError, shorten(err.Error())}
		}
	}
	return nil
}

func (c *Controller) view(p *pass, problem *cause) *view {
	v := &view{
		site: p.site, service: p.service, serviceTaken: p.serviceTaken, pods: p.pods, observing: c.observer != nil,
		problem: problem, kept: keptCommit(p, c.observer != nil), now: c.clock.Now(),
	}
	if p.deployment.found {
		v.deployment = p.deployment.child
	}
	return v
}

// status returns what is to be reported.
func (v *view) status() v1beta1.WebsiteStatus {
	// What is not looked at here stays as it is.
	status := *v.site.Status.DeepCopy()
	status.ObservedGeneration = v.site.Generation
	// The scale subresource hands it to autoscalers, which select pods by it.
	status.Selector = resources.Selector(v.site)
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0, 0
	if v.deployment != nil {
		pods := v.deployment.Status
		status.Replicas, status.UpdatedReplicas = pods.Replicas, pods.UpdatedReplicas
		status.ReadyReplicas, status.AvailableReplicas = pods.ReadyReplicas, pods.AvailableReplicas
	}
	if v.deployment == nil || v.serviceTaken {
		status.NodePort, status.Urls = 0, nil
	}
	if port := sitePort(v.service); port != nil {
		status.NodePort = port.NodePort
		status.Urls = urlsOf(v.service, v.pods)
	}
	var synced metav1.Condition
	status.Commit, synced = v.synced()
	for _, wanted := range []metav1.Condition{v.ready(), v.available(), v.progressing(), synced} {
		if wanted.ObservedGeneration == 0 {
			wanted.ObservedGeneration = v.site.Generation
		}
		if previous := v.previousCondition(wanted.Type); previous != nil && sameButForTheMessage(previous, &wanted) {
			wanted.Message = previous.Message
		}
		// Of use only where the status of the condition changes.
		wanted.LastTransitionTime = metav1.NewTime(v.now.Truncate(time.Second))
		meta.SetStatusCondition(&status.Conditions, wanted)
	}
	return status
}

// sameButForTheMessage reports whether a condition is what it was, in words that
// change with every try: ports of connections, what is left of a quota. Writing
// them would start another pass, with other words.
func sameButForTheMessage(before, after *metav1.Condition) bool {
	switch after.Reason {
	case v1beta1.WebsiteReasonReconcileError, v1beta1.WebsiteReasonQuotaExceeded, v1beta1.WebsiteReasonAdmissionDenied:
		return before.Status == after.Status && before.Reason == after.Reason && before.ObservedGeneration == after.ObservedGeneration
	default:
		return false
	}
}

// recheck returns when something becomes a problem by the clock alone.
func (v *view) recheck() time.Duration {
	for _, pod := range v.pods {
		if waitsToStart(pod.Pod) {
			if wait := startGrace - v.now.Sub(pod.CreationTimestamp.Time); wait > 0 {
				return wait + time.Second
			}
		}
	}
	return 0
}

// writeStatus writes the status of a Website when it differs from what is there,
// and not before it has settled. The write carries the resource version of the
// object that the status was computed from, so it cannot undo a newer one.
func (c *Controller) writeStatus(ctx context.Context, p *pass, status v1beta1.WebsiteStatus) error {
	key := cache.MetaObjectToName(p.site)
	if wait := c.statuses.due(key, p.site, &status, c.clock.Now()); wait != 0 {
		if wait > 0 {
			c.again(p, wait)
		}
		return nil
	}
	update := p.site.DeepCopy()
	update.Status = status
	written, err := c.websites.WebsiteV1beta1().Websites(update.Namespace).
		UpdateStatus(ctx, update, metav1.UpdateOptions{FieldManager: FieldManager})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("writing the status of Website %q: %w", p.site.Name, err)
	default:
		recordStatusWrite()
		c.statuses.wrote(key, p.site, written)
		return nil
	}
}
