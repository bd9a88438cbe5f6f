package children

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websiteclient "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// Owners reads Websites.
type Owners struct {
	Cached websitelisters.WebsiteLister
	Live   websiteclient.WebsitesGetter
}

// isOrphanOf reports whether a Website may adopt an object, by the rules of Kubernetes' own
// controllers: it has no controller, it matches the labels of the Website, and it is not being
// deleted. In addition the controller must have applied it: any client can copy labels, and an object
// of another client is never changed. A client that forges managed fields as well gains nothing: it
// may write the object, which then gets the content that the Website requires. The label of a preview
// cannot be copied, and is kept by a restore.
func (k *Kind[S, T, A]) isOrphanOf(website *v1beta1.Website, child T) bool {
	object := child.GetObjectMeta()
	return metav1.GetControllerOfNoCopy(object) == nil &&
		object.GetDeletionTimestamp().IsZero() && HasLabelsOf(website, object) &&
		(k.notes(child).WasApplied() || isPreviewOf(website, child))
}

// HasLabelsOf reports whether an object has the labels that the children of a Website have.
func HasLabelsOf(website *v1beta1.Website, child metav1.Object) bool {
	labels := child.GetLabels()
	return labels[resources.LabelManagedBy] == resources.ManagedBy && labels[resources.LabelController] == website.Name
}

// isPreviewOf reports whether an object is a Website with the label of a preview, which website-apiserver accepts from
// clients with the verb preview only.
func isPreviewOf(website *v1beta1.Website, child any) bool {
	preview, ok := child.(*v1beta1.Website)
	return ok && preview.Labels[api.LabelPreviewOf] == website.Name
}

// MayOwn checks on the API server that a Website still exists, before it adopts an orphan or a
// missing child is created again. The cache may lack the deletion of the Website: it has another
// watch than the children, whose garbage collection may be observed first. A child that is created
// then would undo an orphaning deletion, and be deleted again after any other.
func (k *Kind[S, T, A]) MayOwn(ctx context.Context, website *v1beta1.Website, name string) *problem.Problem {
	current, err := k.owners.Live.Websites(website.Namespace).Get(ctx, website.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return problem.ClassifyOther(fmt.Errorf("reading Website %q before it gets %s %q: %w", website.Name,
			k.name, name, err))
	case current.UID == website.UID && current.DeletionTimestamp.IsZero() && current.Generation == website.Generation:
		return nil
	case current.UID == website.UID && current.DeletionTimestamp.IsZero():
		return outdated(website, current)
	}
	return problem.Classify(apierrors.NewConflict(v1beta1.Resource("websites"), website.Name,
		fmt.Errorf("it is being deleted or gone, so no %s is created for it", k.name)))
}

// taken returns the problem of a child whose name another object has. The same object with another
// owner is another problem.
func (k *Kind[S, T, A]) taken(website *v1beta1.Website, other T) *problem.Problem {
	object := other.GetObjectMeta()
	child := fmt.Sprintf("%s %q", k.name, object.GetName())
	id, owner := k.name+"/"+object.GetName()+"/", metav1.GetControllerOf(object)
	if owner == nil {
		adopt := ""
		if object.GetDeletionTimestamp().IsZero() && HasLabelsOf(website, object) {
			// Backups keep labels, but some drop managed fields.
			adopt = `run "website-controller adopt" if a backup was restored, `
		}
		return problem.ChildTaken(id, false, child,
			"exists already and has no owner, so it is left alone; "+adopt+"delete it, or "+k.otherwise,
			"exist already and have no owner, so they are left alone; "+adopt+"delete them, or "+k.otherwise)
	}
	id += string(owner.UID)
	by := fmt.Sprintf("%s %q", owner.Kind, owner.Name)
	if k.isGone(website.Namespace, owner) {
		// Garbage collection is about to remove the object.
		return problem.ChildTaken(id, true, child,
			"still belongs to a deleted "+by+"; it is created as soon as garbage collection has removed the old one",
			"still belong to a deleted "+by+"; they are created as soon as garbage collection has removed the old ones")
	}
	return problem.ChildTaken(id, false, child,
		"exists already and belongs to "+by+", so it is left alone; delete it, or "+k.otherwise,
		"exist already and belong to "+by+", so they are left alone; delete them, or "+k.otherwise)
}

// isGone reports whether an owner is a Website that does not exist any more, or is being deleted,
// such as a deleted one with the name of a new one.
func (k *Kind[S, T, A]) isGone(namespace string, owner *metav1.OwnerReference) bool {
	if !api.IsReference(owner) {
		return false
	}
	website, err := k.owners.Cached.Websites(namespace).Get(owner.Name)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return website.UID != owner.UID || !website.DeletionTimestamp.IsZero()
}

// Taken returns the problems of the children of a Website whose names other objects have. It omits
// routes, which have a condition of their own, and children that cannot be read.
func (c *Children) Taken(ctx context.Context, website *v1beta1.Website, configMap string) []*problem.Problem {
	_, deployment := c.Deployments.Find(ctx, website, resources.DeploymentName(website))
	_, config := c.ConfigMaps.Find(ctx, website, configMap)
	_, service := c.Services.Find(ctx, website, resources.ServiceName(website))
	found := []*problem.Problem{deployment, config, service}
	if resources.WantsAgentConfigMap(website) {
		_, agentConfig := c.AgentConfigMaps.Find(ctx, website, resources.AgentConfigMapName(website))
		found = slices.Insert(found, 2, agentConfig)
	}
	if resources.WantsPodDisruptionBudget(website) {
		_, budget := c.PodDisruptionBudgets.Find(ctx, website, resources.PodDisruptionBudgetName(website))
		found = append(found, budget)
	}
	return slices.DeleteFunc(found, func(p *problem.Problem) bool { return p == nil || !p.IsChildTaken() })
}

// Claimed returns the problem of a name that no child has yet and an older Website claims.
func (k *Kind[S, T, A]) Claimed(name string, older *v1beta1.Website) *problem.Problem {
	return problem.NameTaken(k.name+"/"+name+"/"+string(older.UID), false, "the older %s %q claims the name %q first; "+
		"create this Website again with another deploymentName, or delete the other one", resources.Kind, older.Name, name)
}
