package website

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// suspended returns what the children of a Website are built from. While it is
// suspended, its pods stay on a commit, and where that is written down is the
// Deployment itself: it outlives the pods, the controller and the status. Once the
// status says of this very spec that the site is suspended, the Deployment is
// held to that, as all of its fields are to what they should be. When the
// Deployment is gone as well, or has no pods, the status is asked. As long as
// pods differ or nobody has seen what they serve, the site goes on following its
// repository until it is known where to stop: the status may be about a commit
// that is long past.
func (c *Controller) suspended(p *pass) *v1beta1.Website {
	commit := keptCommit(p, c.observer != nil)
	if commit == "" {
		return p.site
	}
	return resources.KeptOn(p.site, commit)
}

// keptCommit returns the commit that a suspended Website stays on, or nothing.
// Where nobody observes pods, their silence says nothing.
func keptCommit(p *pass, observing bool) string {
	if !p.site.Spec.Suspend {
		return ""
	}
	synced := meta.FindStatusCondition(p.site.Status.Conditions, v1beta1.WebsiteSynced)
	if synced != nil && synced.Reason == v1beta1.WebsiteReasonSuspended && synced.ObservedGeneration == p.site.Generation &&
		resources.IsCommit(p.site.Status.Commit) {
		return p.site.Status.Commit
	}
	if p.deployment.found {
		if commit := resources.CommitOf(p.deployment.child); commit != "" {
			return commit
		}
	}
	if !observing || !p.deployment.found {
		return p.site.Status.Commit
	}
	if commit, state := commitOf(p.pods); state != commitNone {
		return commit
	}
	return p.site.Status.Commit
}
