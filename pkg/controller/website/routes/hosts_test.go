package routes

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// TestOldestHasTheHost: the oldest Website of all namespaces owns a host, in case of equal age the
// first by name.
func TestOldestHasTheHost(t *testing.T) {
	const host = "shop.example.com"
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, Indexers(Defaults{}))
	add := func(namespace, name string, age time.Duration, tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
		website := newWebsite(append(tweaks, func(w *v1beta1.Website) {
			w.Namespace, w.Name, w.UID = namespace, name, types.UID(namespace+"/"+name)
			w.CreationTimestamp = metav1.NewTime(testNow.Add(-age))
			if w.Spec.Hosts == nil {
				w.Spec.Hosts = hostsOf("x.example.com", host)
			}
		})...)
		if err := index.Add(website); err != nil {
			t.Fatal(err)
		}
		return website
	}
	deleting := func(w *v1beta1.Website) { w.DeletionTimestamp = &metav1.Time{Time: testNow} }
	wildcard := func(w *v1beta1.Website) { w.Spec.Hosts = hostsOf("*.example.com") }
	add("a", "deleted", 4*time.Hour, deleting)
	add("a", "wildcard", 3*time.Hour, wildcard)
	oldest := add("b", "oldest", 2*time.Hour)
	same := add("b", "same-second", 2*time.Hour)
	younger := add("a", "younger", time.Hour)
	for _, test := range []struct{ website, want *v1beta1.Website }{{oldest, nil}, {same, oldest}, {younger, oldest}} {
		if got := oldestWithHost(index, test.website, host); got != test.want {
			t.Errorf("%s: another one has the host: %v, want %v", test.website.Name, got, test.want)
		}
	}
}

// TestIsStarting: hosts are requested once a pod is available, and always after they have been routed
// once: then requests show that a site is down.
func TestIsStarting(t *testing.T) {
	available := func(n int32) *cached.Deployment {
		return &cached.Deployment{Status: cached.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: n}}
	}
	for name, test := range map[string]struct {
		deployment *cached.Deployment
		routed     []metav1.ConditionStatus
		want       bool
	}{
		"no Deployment yet": {nil, nil, true},
		"no pod is available": {available(0),
			[]metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown}, true},
		"a pod is available": {available(1), []metav1.ConditionStatus{metav1.ConditionFalse}, false},
		"the pods of a routed site are gone": {available(0),
			[]metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionTrue}, false},
	} {
		t.Run(name, func(t *testing.T) {
			website := newWebsite()
			for _, routed := range test.routed {
				website.Status.Hosts = append(website.Status.Hosts,
					v1beta1.WebsiteHostStatus{Conditions: []metav1.Condition{{Type: v1beta1.HostRouted, Status: routed}}})
			}
			if got := isStarting(&status.Input{Website: website, Deployment: test.deployment}); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
