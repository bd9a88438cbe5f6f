package website

import (
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubeinformers "k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitefake "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/fake"
	websiteinformers "github.com/kubesites/website-apiserver/pkg/generated/informers/externalversions"
)

const (
	testNamespace  = "default"
	testName       = "kubia"
	testDeployment = "kubia-website"
)

var (
	testNow    = time.Unix(1_700_000_000, 0)
	commitA    = strings.Repeat("a", 40)
	commitB    = strings.Repeat("b", 40)
	testKey    = cache.NewObjectName(testNamespace, testName)
	testImages = resources.Images{Nginx: "example.com/nginx:1", GitSync: "example.com/git-sync:2"}
)

// newWebsite returns a valid Website, changed as a test needs it.
func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	site := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: testName, Namespace: testNamespace, UID: "uid-of-kubia"},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{
				Repository: "https://github.com/nevermosby/kubia-website-example.git",
				Submodules: v1beta1.SubmodulesOff,
			},
			Sync:           v1beta1.WebsiteSync{PeriodSeconds: 60, TimeoutSeconds: 120},
			Service:        v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
			DeploymentName: testDeployment,
			Replicas:       ptr.To[int32](1),
		},
		Status: v1beta1.WebsiteStatus{Selector: "app=website-nginx,controller=" + testName},
	}
	for _, tweak := range tweaks {
		tweak(site)
	}
	return site
}

func withName(name string) func(*v1beta1.Website) {
	return func(site *v1beta1.Website) {
		site.Name = name
		site.UID = types.UID("uid-of-" + name)
		site.Status.Selector = "app=website-nginx,controller=" + name
	}
}

func withReplicas(replicas int32) func(*v1beta1.Website) {
	return func(site *v1beta1.Website) { site.Spec.Replicas = &replicas }
}

func withStatus(available int32) func(*v1beta1.Website) {
	return func(site *v1beta1.Website) { site.Status.AvailableReplicas = available }
}

// object is a child as the API server returns it.
type object interface {
	metav1.Object
	runtime.Object
}

// fixture is a controller over fake API servers. Its caches are filled by hand,
// so that a test decides how far they lag behind.
type fixture struct {
	*testing.T
	kube       *kubefake.Clientset
	websites   *websitefake.Clientset
	recorder   *events.FakeRecorder
	controller *Controller

	websiteInformers websiteinformers.SharedInformerFactory
	childInformers   kubeinformers.SharedInformerFactory
	// mu makes every write to the fake one step, as it is on a server.
	mu sync.Mutex
	// version is the resource version of the last write.
	version int
}

func newFixture(t *testing.T, sites ...*v1beta1.Website) *fixture {
	t.Helper()
	f := &fixture{
		T:    t,
		kube: kubefake.NewClientset(),
		// Nothing applies Websites, so their managed fields need not be faked.
		websites: websitefake.NewSimpleClientset(),
		recorder: events.NewFakeRecorder(1000),
	}
	f.kube.PrependReactor("patch", "*", f.applyLikeAServer)
	f.websiteInformers = NewWebsiteInformers(f.websites, metav1.NamespaceAll, 0)
	f.childInformers = NewChildInformers(f.kube, metav1.NamespaceAll)
	controller, err := New(Config{
		Websites: f.websites, Kube: f.kube,
		WebsiteInformers: f.websiteInformers, ChildInformers: f.childInformers,
		Recorder: f.recorder, Images: testImages,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(controller.queue.ShutDown)
	controller.writes.delay = 0
	f.controller = controller
	for _, site := range sites {
		f.addWebsite(site)
	}
	return f
}

// addWebsite stores a Website and caches it.
func (f *fixture) addWebsite(site *v1beta1.Website) {
	f.Helper()
	if err := f.websites.Tracker().Add(site.DeepCopy()); err != nil {
		f.Fatal(err)
	}
	f.cacheWebsite(site)
}

func (f *fixture) cacheWebsite(site *v1beta1.Website) {
	f.Helper()
	indexer := f.websiteInformers.Website().V1beta1().Websites().Informer().GetIndexer()
	if err := indexer.Update(site); err != nil {
		f.Fatal(err)
	}
}

// uncacheWebsite makes the controller see that a Website is gone.
func (f *fixture) uncacheWebsite(site *v1beta1.Website) {
	f.Helper()
	indexer := f.websiteInformers.Website().V1beta1().Websites().Informer().GetIndexer()
	if err := indexer.Delete(site); err != nil {
		f.Fatal(err)
	}
}

// converge brings the children of the Websites up and forgets how.
func (f *fixture) converge(sites ...*v1beta1.Website) {
	f.Helper()
	for _, site := range sites {
		for range 2 { // The second pass sees in the caches what the first created.
			if problems := f.reconcile(cache.MetaObjectToName(site)); len(problems) > 0 {
				f.Fatalf("setting up %s: %v", site.Name, problems)
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
	return f.controller.reconcile(ctx, key)
}

// work reconciles and lets the queue decide, as a worker does.
func (f *fixture) work(key cache.ObjectName) problem.Result {
	_, ctx := ktesting.NewTestContext(f.T)
	return f.controller.requeue(ctx, key, f.controller.reconcile(ctx, key))
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

func keyOf(site *v1beta1.Website) cache.ObjectName {
	return cache.MetaObjectToName(site)
}

// changeWebsite gives a Website that is there the spec and the metadata of
// another, and leaves its status, as an update does.
func (f *fixture) changeWebsite(site *v1beta1.Website) {
	f.Helper()
	current := f.website(site.Name)
	site = site.DeepCopy()
	site.Status, site.Generation = current.Status, current.Generation
	if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), site, site.Namespace); err != nil {
		f.Fatal(err)
	}
	f.cacheWebsite(site)
}

// website returns a Website as it is on the API server.
func (f *fixture) website(name string) *v1beta1.Website {
	f.Helper()
	obj, err := f.websites.Tracker().Get(v1beta1.SchemeGroupVersion.WithResource("websites"), testNamespace, name)
	if err != nil {
		f.Fatal(err)
	}
	return obj.(*v1beta1.Website)
}
