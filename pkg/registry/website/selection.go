package website

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Besides name and namespace, Websites can be selected by these fields, with
// their paths in the internal version.
const (
	// DeploymentNameField selects by the name of the Deployment.
	DeploymentNameField = "spec.deploymentName"
	repositoryField     = "spec.source.git.repository"
	// readyField is not a field of the type, but the status of its condition Ready.
	readyField  = "status.ready"
	commitField = "status.commit"
	// hostField is internal: a Website has several values of it.
	hostField = "spec.hosts"
)

// selectable returns the values of the fields that have an index, by field.
var selectable = map[string]func(*website.Website) string{
	DeploymentNameField: func(w *website.Website) string { return w.Spec.DeploymentName },
	repositoryField:     func(w *website.Website) string { return gitOf(&w.Spec).Repository },
	readyField:          ready,
	commitField:         func(w *website.Website) string { return w.Status.Commit },
}

// ready returns the status of the condition Ready, Unknown without the condition.
func ready(w *website.Website) string {
	condition := meta.FindStatusCondition(w.Status.Conditions, v1beta1.WebsiteReady)
	if condition == nil {
		return string(metav1.ConditionUnknown)
	}
	return string(condition.Status)
}

// GetAttrs returns the labels and fields by which a Website can be selected.
// It returns an error for any other type.
func GetAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	w, ok := obj.(*website.Website)
	if !ok {
		return nil, nil, fmt.Errorf("selecting Websites: got a %T", obj)
	}
	set := generic.ObjectMetaFieldsSet(&w.ObjectMeta, true)
	for field, value := range selectable {
		set[field] = value(w)
	}
	return labels.Set(w.Labels), set, nil
}

// MatchWebsite selects Websites by labels and fields.
func MatchWebsite(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{
		Label:       label,
		Field:       field,
		GetAttrs:    GetAttrs,
		IndexFields: slices.Sorted(maps.Keys(selectable)),
	}
}

// MatchHost selects the Websites that may name a host: all if there is no index.
func MatchHost(host string) storage.SelectionPredicate {
	return storage.SelectionPredicate{
		Label:       labels.Everything(),
		Field:       hostSelector{Selector: fields.Everything(), host: host},
		GetAttrs:    GetAttrs,
		IndexFields: []string{hostField},
	}
}

// hostSelector selects the index of hosts, and matches every object in it: the watch
// cache keeps one value per field, and a Website has several hosts.
type hostSelector struct {
	fields.Selector
	host string
}

// Empty is false, as an empty selector uses no index.
func (hostSelector) Empty() bool { return false }

// RequiresExactMatch returns the host.
func (s hostSelector) RequiresExactMatch(field string) (string, bool) {
	return s.host, field == hostField
}

// Indexers allow lists by field without reading every Website in the watch cache.
func Indexers() *cache.Indexers {
	indexers := cache.Indexers{
		storage.FieldIndex(hostField): func(obj any) ([]string, error) {
			w, ok := obj.(*website.Website)
			if !ok {
				return nil, fmt.Errorf("indexing Websites: got a %T", obj)
			}
			return w.Spec.HostNames(), nil
		},
	}
	for field, value := range selectable {
		indexers[storage.FieldIndex(field)] = indexBy(value)
	}
	return &indexers
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

// Triggers dispatch events by deployment name, so that the watch cache does not
// evaluate every event for such watches. It supports one trigger per resource.
func Triggers() storage.IndexerFuncs {
	return storage.IndexerFuncs{DeploymentNameField: func(obj runtime.Object) string {
		w, ok := obj.(*website.Website)
		if !ok {
			return ""
		}
		return w.Spec.DeploymentName
	}}
}
