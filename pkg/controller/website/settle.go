package website

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// invalidSpecError says that no children can be built from a spec. Trying again
// is no use until somebody changes the spec, which starts another pass.
type invalidSpecError struct{ error }

// Unwrap returns what is wrong with the spec.
func (e *invalidSpecError) Unwrap() error { return e.error }

// settle decides what happens to a key after a pass over its Website.
func (c *Controller) settle(ctx context.Context, key cache.ObjectName, problems []error) result {
	logger := klog.FromContext(ctx)
	outcome, retry, again := resultSuccess, false, false
	// hint is how long the API server asks to be left alone.
	var hint time.Duration
	for _, err := range problems {
		var taken *nameTakenError
		switch {
		case errors.Is(err, errClaimBusy):
			again = true
			outcome = max(outcome, resultConflict)
			logger.V(4).Info("Waiting for another Website of the same deploymentName", "err", err)
		case errors.As(err, &taken):
			again = true
			outcome = max(outcome, resultNameTaken)
			logger.V(2).Info("The name of a child is taken", "err", err)
		case isNodePortTaken(err):
			again = true
			outcome = max(outcome, resultNameTaken)
			logger.V(2).Info("The node port is taken", "err", err)
		case isTerminal(err):
			outcome = resultError
			logger.Error(err, "The spec cannot be published; it is tried again when it changes")
		case isNamespaceTerminating(err):
			logger.V(2).Info("The namespace is being deleted", "err", err)
		case isConflict(err):
			retry = true
			outcome = max(outcome, resultConflict)
			logger.V(4).Info("An object changed meanwhile, trying again", "err", err)
		default:
			retry = true
			outcome = resultError
			if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
				hint = max(hint, time.Duration(seconds)*time.Second)
			}
			logger.Error(err, "Reconciling failed, it will be tried again", "retries", c.queue.NumRequeues(key))
		}
	}
	switch {
	case retry:
		c.queue.AddAfter(key, max(hint, c.backoff.When(key)))
	case again:
		c.queue.Forget(key)
		c.queue.AddAfter(key, c.nameTakenRetry())
	default:
		c.queue.Forget(key)
	}
	return outcome
}

func (c *Controller) nameTakenRetry() time.Duration {
	return wait.Jitter(nameTakenRetry, nameTakenJitter)
}
