package storage

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// deploymentNames rejects new Websites for a Deployment of another Website of the
// namespace. Two concurrent creations can both pass: website-controller then reports
// NameTaken for one of them.
type deploymentNames struct {
	store *genericregistry.Store
	describer
}

// check returns an error for a new Website if another one has the name of its Deployment, which is immutable.
func (d deploymentNames) check(ctx context.Context, w, old *website.Website) error {
	if old != nil {
		return nil
	}
	other := d.holder(ctx, w)
	if other == nil {
		return nil
	}
	// field.Duplicate has no detail. v1alpha1 has the same path.
	return apierrors.NewInvalid(website.Kind("Website"), w.Name, field.ErrorList{{
		Type: field.ErrorTypeDuplicate, Field: "spec.deploymentName", BadValue: w.Spec.DeploymentName,
		Detail: d.describe(ctx, w, other) + " has it: choose another name",
	}})
}

// holder returns another Website with the deploymentName of w, or nil. It reads from
// an index of the watch cache, without a request to etcd. If the list fails, no name
// is rejected.
func (d deploymentNames) holder(ctx context.Context, w *website.Website) *website.Website {
	predicate := registry.MatchWebsite(labels.Everything(),
		fields.OneTermEqualSelector(registry.DeploymentNameField, w.Spec.DeploymentName))
	list, err := d.store.ListPredicate(ctx, predicate, &metainternalversion.ListOptions{ResourceVersion: "0"})
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The deploymentName of a new Website is not checked: the Websites of the namespace "+
			"cannot be listed", "website", klog.KObj(w), "err", err)
		return nil
	}
	for i := range list.(*website.WebsiteList).Items {
		name := list.(*website.WebsiteList).Items[i].Name
		// The store reports a Website of the same name.
		if name == w.Name {
			continue
		}
		// The cache may still contain a deleted Website.
		current, err := d.store.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			continue
		}
		if other := current.(*website.Website); other.Spec.DeploymentName == w.Spec.DeploymentName {
			return other
		}
	}
	return nil
}
