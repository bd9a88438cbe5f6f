package website

import (
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	kubeinformers "k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	websitefake "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/fake"
	websiteinformers "github.com/kubesites/website-apiserver/pkg/generated/informers/externalversions"
)

const (
	testNamespace  = "default"
	testName       = "kubia"
	testDeployment = "kubia-website"
)

var (
	testNow          = time.Unix(1_700_000_000, 0)
	commitA          = strings.Repeat("a", 40)
	commitB          = strings.Repeat("b", 40)
	testKey          = cache.NewObjectName(testNamespace, testName)
	testInstallation = resources.Installation{Nginx: "example.com/nginx:1", GitSync: "example.com/git-sync:2",
		Agent: "example.com/agent:3"}
	// testConfigMap is the ConfigMap of newWebsite.
	testConfigMap = configMapName(newWebsite())
	// testAgentConfigMap is the ConfigMap of its agents.
	testAgentConfigMap = resources.AgentConfigMapName(newWebsite())
)

// configMapName returns the name of the ConfigMap for the current spec of a Website.
func configMapName(website *v1beta1.Website) string {
	config, err := resources.NginxConfig(website, testInstallation)
	if err != nil {
		panic(err)
	}
	return resources.ConfigMapName(website, config)
}

// newWebsite returns a valid Website, changed by tweaks.
func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	website := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: testName, Namespace: testNamespace, UID: "uid-of-kubia"},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{
				Repository: "https://github.com/nevermosby/kubia-website-example.git",
				Submodules: v1beta1.SubmodulesNone,
			}},
			Polling:        v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60, TimeoutSeconds: 120},
			Service:        v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
			DeploymentName: testDeployment,
			Replicas:       ptr.To[int32](1),
		},
		Status: v1beta1.WebsiteStatus{Selector: "mycontroller.nevermosby.io/deployment=" + testDeployment},
	}
	for _, tweak := range tweaks {
		tweak(website)
	}
	return website
}

func withName(name string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) {
		website.Name = name
		website.UID = types.UID("uid-of-" + name)
	}
}

func withReplicas(replicas int32) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Spec.Replicas = &replicas }
}

func withStatus(available int32) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Status.AvailableReplicas = available }
}

// object is a child as the API server returns it.
type object interface {
	metav1.Object
	runtime.Object
}

// fixture is a controller over fake API servers. Its caches are filled explicitly, so that a test
// determines how far they lag.
type fixture struct {
	*testing.T
	kube *kubefake.Clientset
	// tracker stores the objects of kube.
	tracker    clienttesting.ObjectTracker
	websites   *websitefake.Clientset
	recorder   *clientevents.FakeRecorder
	controller *Controller

	websiteInformers websiteinformers.SharedInformerFactory
	childInformers   kubeinformers.SharedInformerFactory
	// mu makes every write to the fake atomic, as on a server.
	mu sync.Mutex
	// version is the resource version of the last write.
	version int
	// generations is true if every apply that changes a child makes a new generation.
	generations bool
}

func newFixture(t *testing.T, websites ...*v1beta1.Website) *fixture {
	t.Helper()
	return newFixtureAt(t, clock.RealClock{}, websites...)
}

func newFixtureAt(t *testing.T, clock clock.WithTicker, websites ...*v1beta1.Website) *fixture {
	t.Helper()
	f := &fixture{
		T:        t,
		kube:     &kubefake.Clientset{},
		tracker:  newTracker(),
		websites: websitefake.NewSimpleClientset(),
		recorder: clientevents.NewFakeRecorder(1000),
	}
	f.kube.AddReactor("*", "*", clienttesting.ObjectReaction(f.tracker))
	f.kube.AddWatchReactor("*", watchCopies(f.tracker))
	f.websites.PrependWatchReactor("*", watchCopies(f.websites.Tracker()))
	f.kube.PrependReactor("patch", "*", f.applyLikeAServer)
	f.websites.PrependReactor("patch", "websites", f.applyWebsiteLikeAServer)
	f.websiteInformers = NewWebsiteInformers(f.websites, metav1.NamespaceAll, 0)
	f.childInformers = NewChildInformers(f.kube, metav1.NamespaceAll)
	controller, err := New(Config{
		Websites: f.websites, Kube: f.kube,
		WebsiteInformers: f.websiteInformers, ChildInformers: f.childInformers,
		Recorder: f.recorder, Installation: testInstallation, Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(controller.queue.ShutDown)
	controller.statusDelay = 0
	f.controller = controller
	for _, website := range websites {
		f.addWebsite(website)
	}
	return f
}

// addWebsite stores a Website and caches it.
func (f *fixture) addWebsite(website *v1beta1.Website) {
	f.Helper()
	if err := f.websites.Tracker().Add(website.DeepCopy()); err != nil {
		f.Fatal(err)
	}
	f.cacheWebsite(website)
}

func (f *fixture) cacheWebsite(website *v1beta1.Website) {
	f.Helper()
	indexer := f.websiteInformers.Website().V1beta1().Websites().Informer().GetIndexer()
	if err := indexer.Update(website); err != nil {
		f.Fatal(err)
	}
}

// uncacheWebsite removes a Website from the cache, and calls the handler.
func (f *fixture) uncacheWebsite(website *v1beta1.Website) {
	f.Helper()
	indexer := f.websiteInformers.Website().V1beta1().Websites().Informer().GetIndexer()
	if err := indexer.Delete(website); err != nil {
		f.Fatal(err)
	}
}

// converge creates the children of the Websites and forgets the requests.
func (f *fixture) converge(websites ...*v1beta1.Website) {
	f.Helper()
	for _, website := range websites {
		for range 2 { // The second has the children of the first in its caches.
			if problems := f.reconcile(cache.MetaObjectToName(website)); len(problems) > 0 {
				f.Fatalf("setting up %s: %v", website.Name, problems)
			}
			f.syncCaches()
			f.refreshWebsites()
		}
	}
	f.forgetHistory()
}

func (f *fixture) forgetHistory() {
	f.kube.ClearActions()
	f.websites.ClearActions()
	f.events()
}

func (f *fixture) reconcile(key cache.ObjectName) []*problem.Problem {
	_, ctx := ktesting.NewTestContext(f.T)
	return f.controller.reconciler.reconcile(ctx, key)
}

// reconciliation returns a reconciliation with an observed state.
func (f *fixture) reconciliation(input *status.Input) *reconciliation {
	return &reconciliation{key: keyOf(input.Website), website: input.Website, input: input,
		memory: f.controller.memory.of(input.Website)}
}

// work reconciles and requeues, as a worker does.
func (f *fixture) work(key cache.ObjectName) problem.Result {
	_, ctx := ktesting.NewTestContext(f.T)
	return f.controller.queue.Requeue(ctx, key, f.controller.reconciler.reconcile(ctx, key))
}

// events returns the events since the last call.
func (f *fixture) events() []string {
	var all []string
	for {
		select {
		case event := <-f.recorder.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func keyOf(website *v1beta1.Website) cache.ObjectName {
	return cache.MetaObjectToName(website)
}

// changeWebsite gives an existing Website the spec and the metadata of another, and keeps its status,
// as an update does.
func (f *fixture) changeWebsite(website *v1beta1.Website) {
	f.Helper()
	current := f.website(website.Name)
	website = website.DeepCopy()
	website.Status, website.Generation = current.Status, current.Generation
	if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website,
		website.Namespace); err != nil {
		f.Fatal(err)
	}
	f.cacheWebsite(website)
}

// observeWebsite sets the observed generation of the Website to its first.
func (f *fixture) observeWebsite() {
	f.Helper()
	website := f.website(testName).DeepCopy()
	website.Generation, website.Status.ObservedGeneration = 1, 1
	if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website,
		website.Namespace); err != nil {
		f.Fatal(err)
	}
	f.cacheWebsite(website)
}

// website returns a Website from the API server.
func (f *fixture) website(name string) *v1beta1.Website {
	f.Helper()
	obj, err := f.websites.Tracker().Get(v1beta1.SchemeGroupVersion.WithResource("websites"), testNamespace, name)
	if err != nil {
		f.Fatal(err)
	}
	return obj.(*v1beta1.Website)
}

// watchCopies returns a watch reaction with copies of objects. For objects that are stored between a
// list and its watch, the tracker sends the object itself, which informers change.
func watchCopies(tracker clienttesting.ObjectTracker) clienttesting.WatchReactionFunc {
	return func(action clienttesting.Action) (bool, watch.Interface, error) {
		var options metav1.ListOptions
		if watched, ok := action.(clienttesting.WatchActionImpl); ok {
			options = watched.ListOptions
		}
		events, err := tracker.Watch(action.GetResource(), action.GetNamespace(), options)
		if err != nil {
			return false, nil, err
		}
		return true, watch.Filter(events, func(event watch.Event) (watch.Event, bool) {
			event.Object = event.Object.DeepCopyObject()
			return event, true
		}), nil
	}
}
