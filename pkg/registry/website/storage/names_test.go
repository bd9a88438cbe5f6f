package storage

import (
	"fmt"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// waitCached waits until the watch cache has n Websites for a Deployment.
func waitCached(t *testing.T, s *WebsiteStorage, deployment string, n int) {
	t.Helper()
	options := selectedBy("spec.deploymentName=" + deployment)
	options.ResourceVersion = "0"
	waitUntil(t, fmt.Sprintf("the watch cache has %d Websites for %s", n, deployment), func() bool {
		list, err := s.Website.List(requestContext("v1beta1", ""), options)
		return err == nil && len(list.(*website.WebsiteList).Items) == n
	})
}

func TestTakenDeploymentNames(t *testing.T) {
	const taken = `spec.deploymentName: Duplicate value: "kubia-website": the Website "kubia" of this namespace has it: ` +
		`choose another name`
	s := newCachedStorage(t, genericregistry.StorageWithCacher())
	mustCreate(t, s, newWebsite())
	waitCached(t, s, "kubia-website", 1)
	named := func(name string) func(*website.Website) { return func(w *website.Website) { w.Name = name } }

	before := listsByIndex(t)
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		ctx := as(requestContext(version, ""), "owner")
		for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
			_, err := s.Website.Create(ctx, newWebsite(named("other")), rest.ValidateAllObjectFunc,
				&metav1.CreateOptions{DryRun: dryRun})
			checkRefused(t, err, taken)
		}
		_, _, err := s.Website.Update(ctx, "other", changed(func(w *website.Website) { *w = *newWebsite(named("other")) }),
			nil, nil, true, &metav1.UpdateOptions{})
		checkRefused(t, err, taken)
	}
	after := listsByIndex(t)
	for index, lists := range before {
		if index != "watchcache f:spec.deploymentName" && after[index] != lists {
			t.Errorf("lists by index = %v, before %v: want only lookups in the index of the watch cache", after, before)
		}
	}
	if maps.Equal(before, after) {
		t.Error("nothing was listed")
	}

	if _, err := s.Website.Create(requestContext("v1beta1", ""), newWebsite(), nil,
		&metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating the same Website: %v, want AlreadyExists", err)
	}
	elsewhere := genericapirequest.WithNamespace(requestContext("v1beta1", ""), "elsewhere")
	if _, err := s.Website.Create(elsewhere, newWebsite(func(w *website.Website) { w.Namespace = "elsewhere" }), nil,
		&metav1.CreateOptions{}); err != nil {
		t.Errorf("in another namespace: %v", err)
	}
	for i := range 20 {
		if _, _, err := s.Website.Delete(requestContext("v1beta1", ""), "kubia", rest.ValidateAllObjectFunc,
			&metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		// The watch cache may lag.
		other := fmt.Sprintf("other-%d", i)
		if _, err := s.Website.Create(requestContext("v1beta1", ""), newWebsite(named(other)), nil,
			&metav1.CreateOptions{}); err != nil {
			t.Fatalf("after the deletion: %v", err)
		}
		if _, _, err := s.Website.Delete(requestContext("v1beta1", ""), other, rest.ValidateAllObjectFunc,
			&metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		mustCreate(t, s, newWebsite())
	}
}

// TestDeploymentNamesWithoutAWatchCache checks the names in etcd.
func TestDeploymentNamesWithoutAWatchCache(t *testing.T) {
	s := newStorage(t, generic.UndecoratedStorage)
	mustCreate(t, s, newWebsite())
	_, err := s.Website.Create(as(requestContext("v1beta1", ""), "owner"),
		newWebsite(func(w *website.Website) { w.Name = "other" }), nil, &metav1.CreateOptions{})
	checkRefused(t, err, `the Website "kubia" of this namespace has it`)
}

// TestNamesOfOtherWebsites: the response to a creation does not reveal the name of a Website that
// the user may not get.
func TestNamesOfOtherWebsites(t *testing.T) {
	s := newStorageWithPolicy(t, grants{"owner get websites/kubia": true}, generic.UndecoratedStorage)
	mustCreate(t, s, newWebsite())
	for user, want := range map[string]string{
		"owner": `"kubia-website": the Website "kubia" of this namespace has it: choose another name`,
		poor:    `"kubia-website": another Website has it: choose another name`,
	} {
		_, err := s.Website.Create(as(requestContext("v1beta1", ""), user),
			newWebsite(func(w *website.Website) { w.Name = "other" }), nil, &metav1.CreateOptions{})
		checkRefused(t, err, want)
	}
}
