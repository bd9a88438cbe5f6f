package agent

import (
	"context"

	"k8s.io/klog/v2"
)

// checkAccess has nginx admit the users that the Secret has by now.
func (a *Agent) checkAccess(ctx context.Context) {
	if a.Access == nil {
		return
	}
	problem, err := a.Access.Check()
	if err != nil {
		klog.FromContext(ctx).Error(err, "Rejecting every request for the site")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status.Access != problem {
		a.status.Access = problem
		a.changed()
	}
}
