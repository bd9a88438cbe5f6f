package website

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// The fields, beside name and namespace, by which Websites can be selected, as
// they are called in the hub.
const (
	deploymentNameField = "spec.deploymentName"
	repositoryField     = "spec.source.repository"
)

// GetAttrs returns the labels and fields by which a Website can be selected.
// It returns an error for any other type.
func GetAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	w, ok := obj.(*website.Website)
	if !ok {
		return nil, nil, fmt.Errorf("selecting Websites: got a %T", obj)
	}
	selectable := generic.ObjectMetaFieldsSet(&w.ObjectMeta, true)
	selectable[deploymentNameField] = w.Spec.DeploymentName
	selectable[repositoryField] = w.Spec.Source.Repository
	return labels.Set(w.Labels), selectable, nil
}

// MatchWebsite selects Websites by labels and fields.
func MatchWebsite(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{
		Label:       label,
		Field:       field,
		GetAttrs:    GetAttrs,
		IndexFields: []string{deploymentNameField, repositoryField},
	}
}

// Indexers keep lists by field from looking at every Website in the watch cache.
func Indexers() *cache.Indexers {
	return &cache.Indexers{
		storage.FieldIndex(deploymentNameField): indexBy(func(w *website.Website) string { return w.Spec.DeploymentName }),
		storage.FieldIndex(repositoryField):     indexBy(func(w *website.Website) string { return w.Spec.Source.Repository }),
	}
}

func indexBy(value func(*website.Website) string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		w, ok := obj.(*website.Website)
		if !ok {
			return nil, fmt.Errorf("indexing Websites: got a %T", obj)
		}
		return []string{value(w)}, nil
	}
}

// Triggers keep watches by deployment name from being offered every event. The
// watch cache takes one trigger per resource.
func Triggers() storage.IndexerFuncs {
	return storage.IndexerFuncs{deploymentNameField: func(obj runtime.Object) string {
		w, ok := obj.(*website.Website)
		if !ok {
			return ""
		}
		return w.Spec.DeploymentName
	}}
}
