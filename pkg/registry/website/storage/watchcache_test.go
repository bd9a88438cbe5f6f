package storage

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	storagemetrics "k8s.io/apiserver/pkg/storage/metrics"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// newCachedStorage returns a storage that reads from the watch cache, as in
// production, and waits until that is filled.
func newCachedStorage(t *testing.T, decorator generic.StorageDecorator) *WebsiteStorage {
	t.Helper()
	s := newStorage(t, decorator)
	waitUntil(t, "the watch cache is filled", func() bool { return s.Website.ReadinessCheckFunc() == nil })
	return s
}

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) {
			return condition(), nil
		})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func selectedBy(selector string) *metainternalversion.ListOptions {
	return &metainternalversion.ListOptions{FieldSelector: fields.ParseSelectorOrDie(selector)}
}

// listsByIndex returns the number of lists so far, by their source and index.
func listsByIndex(t *testing.T) map[string]float64 {
	t.Helper()
	// Metrics count only after registration, which the server does when it serves them.
	storagemetrics.Register()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	lists := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "apiserver_storage_list_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			lists[labels["storage"]+" "+labels["index"]] = metric.GetCounter().GetValue()
		}
	}
	return lists
}

// TestSelectionFromTheWatchCache lists by field as in production, from the
// indexes of the watch cache.
func TestSelectionFromTheWatchCache(t *testing.T) {
	s := newCachedStorage(t, genericregistry.StorageWithCacher())
	mustCreate(t, s, newWebsite())
	mustCreate(t, s, newWebsite(func(w *website.Website) {
		w.Name, w.Spec.DeploymentName, w.Spec.Source.Git.Repository = "other", "other-website",
			"https://example.com/other.git"
	}))
	const (
		byDeployment = storagemetrics.StorageBackendWatchCache + " f:spec.deploymentName"
		byRepository = storagemetrics.StorageBackendWatchCache + " f:spec.source.git.repository"
		byReady      = storagemetrics.StorageBackendWatchCache + " f:status.ready"
		byCommit     = storagemetrics.StorageBackendWatchCache + " f:status.commit"
		withoutIndex = storagemetrics.StorageBackendWatchCache + " "
	)
	tests := map[string]struct {
		selector string
		want     []string
		// indexes are the permitted indexes.
		indexes []string
	}{
		"by deployment": {selector: "spec.deploymentName=kubia-website", want: []string{"kubia"},
			indexes: []string{byDeployment}},
		"by repository": {selector: "spec.source.git.repository=https://example.com/other.git",
			want: []string{"other"}, indexes: []string{byRepository}},
		"by readiness": {selector: "status.ready=Unknown", want: []string{"kubia", "other"},
			indexes: []string{byReady}},
		"by other readiness": {selector: "status.ready=False", indexes: []string{byReady}},
		"by commit":          {selector: "status.commit=", want: []string{"kubia", "other"}, indexes: []string{byCommit}},
		"by name":            {selector: "metadata.name=other", want: []string{"other"}, indexes: []string{withoutIndex}},
		"by both": {
			selector: "spec.deploymentName=kubia-website,spec.source.git.repository=https://example.com/other.git",
			indexes:  []string{byDeployment, byRepository},
		},
		"by an absent value": {selector: "spec.deploymentName=absent", indexes: []string{byDeployment}},
		"everything but kubia": {selector: "spec.deploymentName!=kubia-website", want: []string{"other"},
			indexes: []string{withoutIndex}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := listsByIndex(t)
			list, err := s.Website.List(requestContext("v1beta1", ""), selectedBy(test.selector))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range list.(*website.WebsiteList).Items {
				got = append(got, w.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("selected %v, want %v", got, test.want)
			}
			var used []string
			for index, lists := range listsByIndex(t) {
				if lists > before[index] {
					used = append(used, index)
				}
			}
			if len(used) != 1 || !slices.Contains(test.indexes, used[0]) {
				t.Errorf("indexes used = %q, want one of %q", used, test.indexes)
			}
		})
	}
}

// TestTriggerOfTheWatchCache: the watch cache uses the trigger to dispatch events to
// the watchers of a deployment name.
func TestTriggerOfTheWatchCache(t *testing.T) {
	var calls atomic.Int32
	cached := genericregistry.StorageWithCacher()
	s := newCachedStorage(t, func(config *storagebackend.ConfigForResource, resourcePrefix string,
		keyFunc func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object, getAttrs storage.AttrFunc, triggers storage.IndexerFuncs,
		indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		counted := storage.IndexerFuncs{}
		for field, trigger := range triggers {
			counted[field] = func(obj runtime.Object) string {
				calls.Add(1)
				return trigger(obj)
			}
		}
		return cached(config, resourcePrefix, keyFunc, newFunc, newListFunc, getAttrs, counted, indexers)
	})
	watcher, err := s.Website.Watch(requestContext("v1beta1", ""), selectedBy("spec.deploymentName=kubia-website"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	mustCreate(t, s, newWebsite())
	select {
	case <-watcher.ResultChan():
	case <-time.After(30 * time.Second):
		t.Fatal("no event")
	}
	if calls.Load() == 0 {
		t.Error("the watch cache has not called the trigger")
	}
}
