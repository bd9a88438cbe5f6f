package website

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routes"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// controlledBy returns a child with the name that both test Websites claim.
func controlledBy(apiVersion, kind, name string, uid types.UID) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: testNamespace, Name: testDeployment,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid,
			Controller: ptr.To(true)}},
	}}
}

func TestChildEvents(t *testing.T) {
	const group = "mycontroller.nevermosby.io"
	first := controlledBy(group+"/v1beta1", "Website", "first", "uid-of-first")
	otherVersion := controlledBy(group+"/v1beta1", "Website", "first", "uid-of-first")
	predecessor := controlledBy(group+"/v1beta1", "Website", "first", "an-earlier-one")
	otherGroup := controlledBy("example.com/v1", "Website", "first", "uid-of-first")
	otherKind := controlledBy(group+"/v1beta1", "Shop", "first", "uid-of-first")
	orphan := foreignDeployment()

	for name, test := range map[string]struct {
		event func(handler cache.ResourceEventHandler)
		want  []string
	}{
		"added": {func(h cache.ResourceEventHandler) { h.OnAdd(first, false) }, []string{"first"}},
		"added, owner of any version": {func(h cache.ResourceEventHandler) { h.OnAdd(otherVersion, false) },
			[]string{"first"}},
		"added, of a deleted Website": {func(h cache.ResourceEventHandler) { h.OnAdd(predecessor, false) }, nil},
		"added, of another group":     {func(h cache.ResourceEventHandler) { h.OnAdd(otherGroup, false) }, nil},
		"added, of another kind":      {func(h cache.ResourceEventHandler) { h.OnAdd(otherKind, false) }, nil},
		"added, without owner":        {func(h cache.ResourceEventHandler) { h.OnAdd(orphan, false) }, nil},
		"updated":                     {func(h cache.ResourceEventHandler) { h.OnUpdate(first, first) }, []string{"first"}},
		"updated, orphaned": {func(h cache.ResourceEventHandler) { h.OnUpdate(first, orphan) },
			[]string{"first", "second"}},
		"deleted, others may want it": {func(h cache.ResourceEventHandler) { h.OnDelete(first) },
			[]string{"first", "second"}},
		"deleted, without owner": {func(h cache.ResourceEventHandler) { h.OnDelete(orphan) },
			[]string{"first", "second"}},
		"deleted while not watched": {func(h cache.ResourceEventHandler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/x", Obj: first})
		}, []string{"first", "second"}},
		"not an object": {func(h cache.ResourceEventHandler) { h.OnDelete("nonsense") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newWebsite(withName("first")), newWebsite(withName("second")))
			handler := f.controller.handlers.childHandler(func(name string) (string, bool) { return name, true })

			test.event(handler)
			if got := f.controller.queue.Len(); got != 0 {
				t.Errorf("%d keys queued while another replica leads", got)
			}
			f.controller.queue.Running.Store(true)
			test.event(handler)
			var got []string
			for f.controller.queue.Len() > 0 {
				key, _ := f.controller.queue.Get()
				f.controller.queue.Done(key)
				got = append(got, key.Name)
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("queued %q, want %q", got, test.want)
			}
		})
	}
}

// TestDeletedReplicaSet: the Website of a deleted ReplicaSet is queued, as its configuration may be unused now.
func TestDeletedReplicaSet(t *testing.T) {
	f := newFixture(t)
	queue := f.controller.queue
	queue.Running.Store(true)
	replicaSet := oldReplicaSet(resources.PodLabels(newWebsite()), testConfigMap)
	f.controller.handlers.replicaSetHandler().OnDelete(cached.OfReplicaSet(replicaSet))
	if queue.Len() != 1 {
		t.Fatalf("%d Websites are queued, want one", queue.Len())
	}
	if got, _ := queue.Get(); got != testKey {
		t.Errorf("%v is queued, want %v", got, testKey)
	}
}

// TestAFloodDoesNotDelayAvailability: Websites are created faster than they are
// reconciled, and one that becomes available meanwhile is reconciled next.
func TestAFloodDoesNotDelayAvailability(t *testing.T) {
	f := newFixture(t)
	queue := f.controller.queue
	queue.Running.Store(true)
	website := newWebsite()
	f.cacheWebsite(website)
	f.converge(website)
	for queue.Len() > 0 {
		key, _ := queue.Get()
		queue.Done(key)
	}
	for i := range 1000 {
		f.controller.handlers.websiteHandler().
			OnAdd(newWebsite(func(w *v1beta1.Website) { w.Name = fmt.Sprintf("new-%d", i) }), false)
	}
	before := f.deployment()
	after := before.DeepCopy()
	after.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	f.controller.handlers.childHandler(func(name string) (string, bool) { return name, true }).
		OnUpdate(cached.OfDeployment(before), cached.OfDeployment(after))
	if got, _ := queue.Get(); got != testKey {
		t.Errorf("%v comes before the Website that became available", got)
	}
}

// TestReplacedUnseen: a Website that was deleted and created again between two watches is an update
// with another UID. Another Website may own its hosts now.
func TestReplacedUnseen(t *testing.T) {
	hosts := func(w *v1beta1.Website) { w.Spec.Hosts = []v1beta1.WebsiteHost{{Name: "www.example.com"}} }
	again := newWebsite(withName("first"), hosts)
	f := newFixture(t, again, newWebsite(withName("second"), hosts))
	queue := f.controller.queue
	queue.Running.Store(true)
	websites := f.websiteInformers.Website().V1beta1().Websites().Informer()
	if err := websites.AddIndexers(routes.Indexers(routes.Defaults{})); err != nil {
		t.Fatal(err)
	}
	watched := routes.WatchConfig{Gateway: gatewayfake.NewClientset(), Kube: f.kube}
	f.controller.handlers.routes = routes.New(routes.Config{Watch: watched},
		routes.Controller{Websites: websites.GetIndexer(), Queue: queue, Clock: clock.RealClock{}})
	before := again.DeepCopy()
	before.UID = "of-before"
	f.controller.handlers.websiteHandler().OnUpdate(before, again)
	queued := map[string]bool{}
	for queue.Len() > 0 {
		key, _ := queue.Get()
		queue.Done(key)
		queued[key.Name] = true
	}
	if !queued["first"] || !queued["second"] {
		t.Errorf("queued are %v, want both", queued)
	}
}

// TestStandbyRemembersNothing: a standby ignores changes, which the leader handles.
func TestStandbyRemembersNothing(t *testing.T) {
	settledAt := func(generation int64) *v1beta1.Website {
		return newWebsite(func(website *v1beta1.Website) {
			website.Generation = generation
			website.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteSynced, ObservedGeneration: generation}}
		})
	}
	first, last := settledAt(1), settledAt(2)
	f := newFixture(t, last)
	handler := f.controller.handlers.websiteHandler()
	handler.OnAdd(first, true)
	handler.OnUpdate(first, last)
	f.controller.queue.Running.Store(true)
	in := &status.Input{Website: last, Now: testNow}
	f.controller.reconciler.memory.observe(in.Website).Recall(in)
	if in.Origin.SpecChanged {
		t.Errorf("after a failover the spec counts as changed: %+v", in.Origin)
	}
	// After a restore of the store, the generation is an earlier one.
	handler.OnUpdate(last, first)
	in.Website = first.DeepCopy()
	in.Website.Generation = 2
	if f.controller.reconciler.memory.observe(in.Website).Recall(in); !in.Origin.SpecChanged {
		t.Error("a change after a restore of the store does not count")
	}
}
