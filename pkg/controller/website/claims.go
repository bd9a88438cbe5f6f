package website

import (
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// errClaimBusy says that another Website that asks for the same name is being
// worked on. This one is queued again when that is done.
var errClaimBusy = errors.New("another Website that asks for the same name is being worked on")

// claims serializes the work on one deployment name. Two Websites that ask for
// one name are worked on one after the other, so that the second finds what the
// first created: both writing at once would be no conflict for the API server,
// since they are one field manager. Nobody waits with a worker for a claim, so a
// Website that takes long holds up nobody but those that want its name.
type claims struct {
	mu sync.Mutex
	// waiting are the Websites that came while a claim was held.
	waiting map[string][]cache.ObjectName
}

// acquire takes a claim, or notes who wanted it.
func (c *claims) acquire(claim string, key cache.ObjectName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting, held := c.waiting[claim]
	if held {
		c.waiting[claim] = append(waiting, key)
		return false
	}
	if c.waiting == nil {
		c.waiting = map[string][]cache.ObjectName{}
	}
	c.waiting[claim] = nil
	return true
}

// release gives a claim back and returns who wanted it meanwhile.
func (c *claims) release(claim string) []cache.ObjectName {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.waiting[claim]
	delete(c.waiting, claim)
	return waiting
}

// olderClaimant returns the oldest other Website that asks for the same name, if
// it is older than this one.
func (c *Controller) olderClaimant(site *v1beta1.Website) *v1beta1.Website {
	others, err := c.siteIndex.ByIndex(byDeploymentName, claimOf(site.Namespace, resources.DeploymentName(site)))
	if err != nil {
		return nil // Only an index that does not exist is an error, and New made it.
	}
	oldest := site
	for _, obj := range others {
		if other, ok := obj.(*v1beta1.Website); ok && other.DeletionTimestamp.IsZero() && isOlder(other, oldest) {
			oldest = other
		}
	}
	if oldest == site {
		return nil
	}
	return oldest
}

// isOlder orders Websites by age. Time stamps have seconds only, so among those
// of one second the name decides.
func isOlder(a, b *v1beta1.Website) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// checkClaim lets the oldest of several Websites have a name that nobody has
// yet. Whoever holds a child under it keeps it.
func (c *Controller) checkClaim(site *v1beta1.Website, deployment *observedDeployment) error {
	if deployment.found {
		return nil
	}
	older := c.olderClaimant(site)
	if older == nil {
		return nil
	}
	if config, err := c.configMaps.cached(site.Namespace, resources.ConfigMapName(site)); err == nil && metav1.IsControlledBy(config, site) {
		return nil
	}
	return &nameTakenError{
		kind: c.deployments.kind, name: resources.DeploymentName(site), claimed: true,
		owner: &metav1.OwnerReference{Kind: resources.Kind, Name: older.Name, UID: older.UID},
	}
}
