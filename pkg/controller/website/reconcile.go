package website

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// invalidSpecError says that no children can be built from a spec. Trying again
// is no use until somebody changes the spec, which starts another pass.
type invalidSpecError struct{ error }

// Unwrap returns what is wrong with the spec.
func (e *invalidSpecError) Unwrap() error { return e.error }

// reconcile makes one pass over one Website. The problems it returns decide
// when the next one comes; see Controller.settle.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) []error {
	site, err := c.siteLister.Websites(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.reporter.forget(key)
		return nil
	}
	if err != nil {
		return []error{err}
	}
	if !site.DeletionTimestamp.IsZero() {
		// Garbage collection removes the children; putting one back would only
		// get in its way.
		return nil
	}

	deployment, service, problems := c.reconcileChildren(ctx, site)
	c.reporter.report(ctx, site, problems)

	if deployment == nil {
		return problems
	}
	if err := c.updateStatus(ctx, site, observedStatus(site, deployment, service)); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// reconcileChildren brings the children of a Website to what they should be. It
// returns its Deployment, or nil when it could not be found out whether there
// is one, and its Service, or nil when that was not looked at.
func (c *Controller) reconcileChildren(ctx context.Context, site *v1beta1.Website) (*observedDeployment, *corev1.Service, []error) {
	var service *corev1.Service
	// Two Websites that ask for one name are worked on one after the other, so
	// that the second finds what the first created. Both writing at once would
	// not be a conflict for the API server: they are one field manager.
	claim := claimOf(site.Namespace, resources.DeploymentName(site))
	c.claims.LockKey(claim)
	defer func() { _ = c.claims.UnlockKey(claim) }()

	// The Deployment is what stakes the claim to the name: while it is somebody
	// else's, nothing at all is written.
	deployment, err := c.deployments.observe(ctx, site, resources.DeploymentName(site))
	if err != nil {
		var taken *nameTakenError
		if errors.As(err, &taken) {
			return &deployment, service, []error{err}
		}
		return nil, service, []error{err}
	}
	nginxConfig, err := resources.NginxConfig(site)
	if err != nil {
		return &deployment, service, []error{&invalidSpecError{err}}
	}
	desired, err := resources.Deployment(site, c.images, nginxConfig)
	if err != nil {
		return &deployment, service, []error{&invalidSpecError{err}}
	}

	var problems []error
	err = c.ensureConfigMap(ctx, site, nginxConfig)
	if err == nil {
		deployment, err = c.ensureDeployment(ctx, site, deployment, desired)
	}
	if err != nil {
		problems = append(problems, err)
	}
	// A Service is of no use without pods, but one that is missing in front of
	// pods is put back whatever else is wrong.
	if deployment.found {
		if service, err = c.ensureService(ctx, site); err != nil {
			problems = append(problems, err)
		}
	}
	return &deployment, service, problems
}

// settle decides what happens to a key after a pass over its Website.
func (c *Controller) settle(ctx context.Context, key cache.ObjectName, problems []error) result {
	logger := klog.FromContext(ctx)
	outcome, retry, wait := resultSuccess, false, false
	for _, err := range problems {
		var taken *nameTakenError
		var invalid *invalidSpecError
		switch {
		case errors.As(err, &taken):
			wait = true
			if outcome == resultSuccess {
				outcome = resultNameTaken
			}
			logger.V(2).Info("The name of a child is taken", "err", err)
		case errors.As(err, &invalid):
			outcome = resultError
			logger.Error(err, "The spec cannot be published; it is tried again when it changes")
		case isNamespaceTerminating(err):
			logger.V(2).Info("The namespace is being deleted", "err", err)
		case isConflict(err):
			retry = true
			if outcome != resultError {
				outcome = resultConflict
			}
			logger.V(4).Info("An object changed meanwhile, trying again", "err", err)
		default:
			retry = true
			outcome = resultError
			logger.Error(err, "Reconciling failed, it will be tried again", "retries", c.queue.NumRequeues(key))
		}
	}
	switch {
	case retry:
		c.queue.AddRateLimited(key)
	case wait:
		c.queue.Forget(key)
		c.queue.AddAfter(key, c.nameTakenRetry())
	default:
		c.queue.Forget(key)
	}
	return outcome
}

// isActionable reports whether an error is one that a user can do something
// about: a quota or an admission policy that refuses, a child that is invalid.
func isActionable(err error) bool {
	var invalid *invalidSpecError
	if errors.As(err, &invalid) {
		return true
	}
	if isConflict(err) || isNamespaceTerminating(err) {
		return false
	}
	reason := apierrors.ReasonForError(err)
	return reason == metav1.StatusReasonForbidden || reason == metav1.StatusReasonInvalid
}
