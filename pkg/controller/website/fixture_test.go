package website

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeinformers "k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
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

// fixture is a controller over fake API servers. Its caches are filled by hand,
// so that a test decides how far they lag behind.
type fixture struct {
	*testing.T
	kube       *kubefake.Clientset
	sites      *websitefake.Clientset
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
		sites:    websitefake.NewSimpleClientset(),
		recorder: events.NewFakeRecorder(1000),
	}
	f.kube.PrependReactor("patch", "*", f.applyLikeAServer)
	f.websiteInformers = NewWebsiteInformers(f.sites, metav1.NamespaceAll)
	f.childInformers = NewChildInformers(f.kube, metav1.NamespaceAll)
	controller, err := New(Config{
		Websites: f.sites, Kube: f.kube,
		WebsiteInformers: f.websiteInformers, ChildInformers: f.childInformers,
		Recorder: f.recorder, Images: testImages,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(controller.queue.ShutDown)
	controller.statuses.delay = 0
	f.controller = controller
	for _, site := range sites {
		f.addWebsite(site)
	}
	return f
}

// applyLikeAServer adds to the fake what the controller relies on: UIDs and
// resource versions, and that an apply with a UID is for that object only.
func (f *fixture) applyLikeAServer(action clienttesting.Action) (bool, runtime.Object, error) {
	patch, ok := action.(clienttesting.PatchActionImpl)
	if !ok || patch.PatchType != types.ApplyPatchType {
		return true, nil, fmt.Errorf("%s %s is not a server-side apply", action.GetVerb(), action.GetResource().Resource)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var sent struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(patch.Patch, &sent); err != nil {
		return true, nil, err
	}
	resource := patch.GetResource()
	before, err := f.kube.Tracker().Get(resource, patch.Namespace, patch.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return true, nil, err
	}
	exists := err == nil
	if sent.Metadata.UID != "" {
		switch {
		case !exists:
			return true, nil, apierrors.NewConflict(resource.GroupResource(), patch.Name, fmt.Errorf("uid mismatch"))
		case before.(metav1.Object).GetUID() != sent.Metadata.UID:
			return true, nil, apierrors.NewInvalid(schema.GroupKind{Group: resource.Group, Kind: "Child"}, patch.Name,
				field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), sent.Metadata.UID, "field is immutable")})
		}
	}
	if sent.Metadata.ResourceVersion != "" {
		if exists {
			return true, nil, apierrors.NewConflict(resource.GroupResource(), patch.Name, fmt.Errorf("the object has been modified"))
		}
		// A resource version plays no part where there is nothing yet.
		var content map[string]any
		if err := json.Unmarshal(patch.Patch, &content); err != nil {
			return true, nil, err
		}
		delete(content["metadata"].(map[string]any), "resourceVersion")
		if patch.Patch, err = json.Marshal(content); err != nil {
			return true, nil, err
		}
		action = patch
	}
	_, after, err := clienttesting.ObjectReaction(f.kube.Tracker())(action)
	if err != nil {
		return true, nil, err
	}
	if exists && sameContent(f.T, before, after) {
		return true, after, nil
	}
	object := after.(object)
	if !exists {
		object.SetUID(types.UID(fmt.Sprintf("uid-of-%s-%s", resource.Resource, patch.Name)))
	}
	if err := f.put(object); err != nil {
		return true, nil, err
	}
	return true, object, nil
}

func sameContent(t *testing.T, a, b runtime.Object) bool {
	t.Helper()
	strip := func(obj runtime.Object) []byte {
		obj = obj.DeepCopyObject()
		obj.(metav1.Object).SetResourceVersion("")
		obj.(metav1.Object).SetManagedFields(nil)
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	return bytes.Equal(strip(a), strip(b))
}

func resourceOf(obj runtime.Object) schema.GroupVersionResource {
	switch obj.(type) {
	case *appsv1.Deployment:
		return appsv1.SchemeGroupVersion.WithResource("deployments")
	case *corev1.Service:
		return corev1.SchemeGroupVersion.WithResource("services")
	case *corev1.ConfigMap:
		return corev1.SchemeGroupVersion.WithResource("configmaps")
	case *corev1.Pod:
		return corev1.SchemeGroupVersion.WithResource("pods")
	case *policyv1.PodDisruptionBudget:
		return policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	default:
		panic(fmt.Sprintf("no resource for %T", obj))
	}
}

// put writes an object as somebody else. The caller holds the lock.
func (f *fixture) put(obj object) error {
	f.version++
	obj.SetResourceVersion(strconv.Itoa(f.version))
	resource := resourceOf(obj)
	tracker := f.kube.Tracker()
	err := tracker.Update(resource, obj, obj.GetNamespace(), metav1.UpdateOptions{FieldManager: "somebody-else"})
	if apierrors.IsNotFound(err) {
		err = tracker.Create(resource, obj, obj.GetNamespace(), metav1.CreateOptions{FieldManager: "somebody-else"})
	}
	return err
}

// store writes an object behind the back of the controller.
func (f *fixture) store(obj object) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.put(obj); err != nil {
		f.Fatal(err)
	}
}

// edit changes a child behind the back of the controller, in one step.
func edit[T object](f *fixture, name string, change func(T)) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var zero T
	obj, err := f.kube.Tracker().Get(resourceOf(zero), testNamespace, name)
	if err != nil {
		f.Fatal(err)
	}
	change(obj.(T))
	if err := f.put(obj.(T)); err != nil {
		f.Fatal(err)
	}
}

// remove deletes an object behind the back of the controller.
func (f *fixture) remove(obj object) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.kube.Tracker().Delete(resourceOf(obj), obj.GetNamespace(), obj.GetName()); err != nil {
		f.Fatal(err)
	}
}

// live returns a child as it is on the API server, or nil.
func live[T object](f *fixture, name string) (found T, ok bool) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var zero T
	obj, err := f.kube.Tracker().Get(resourceOf(zero), testNamespace, name)
	if apierrors.IsNotFound(err) {
		return zero, false
	}
	if err != nil {
		f.Fatal(err)
	}
	return obj.(T), true
}

func (f *fixture) deployment() *appsv1.Deployment {
	f.Helper()
	return must[*appsv1.Deployment](f, testDeployment)
}

func (f *fixture) service() *corev1.Service {
	f.Helper()
	return must[*corev1.Service](f, testDeployment+"-npsvc")
}

func (f *fixture) configMap() *corev1.ConfigMap {
	f.Helper()
	return must[*corev1.ConfigMap](f, testDeployment+"-nginx")
}

func must[T object](f *fixture, name string) T {
	f.Helper()
	obj, ok := live[T](f, name)
	if !ok {
		f.Fatalf("there is no %T %q", obj, name)
	}
	return obj
}

// addWebsite stores a Website and caches it.
func (f *fixture) addWebsite(site *v1beta1.Website) {
	f.Helper()
	if err := f.sites.Tracker().Add(site.DeepCopy()); err != nil {
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

// syncCaches makes the caches show what is on the API server now.
func (f *fixture) syncCaches() {
	f.Helper()
	deployments, err := f.kube.AppsV1().Deployments("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	services, err := f.kube.CoreV1().Services("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	configMaps, err := f.kube.CoreV1().ConfigMaps("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	budgets, err := f.kube.PolicyV1().PodDisruptionBudgets("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	pods, err := f.kube.CoreV1().Pods("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	replaceCache(f, f.childInformers.Policy().V1().PodDisruptionBudgets().Informer(), budgets.Items)
	replaceCache(f, f.childInformers.Core().V1().Pods().Informer(), pods.Items)
	replaceCache(f, f.childInformers.Apps().V1().Deployments().Informer(), deployments.Items)
	replaceCache(f, f.childInformers.Core().V1().Services().Informer(), services.Items)
	replaceCache(f, f.childInformers.Core().V1().ConfigMaps().Informer(), configMaps.Items)
}

// replaceCache does what an informer does: select by label, transform, store.
func replaceCache[T any, P interface {
	*T
	object
}](f *fixture, informer cache.SharedIndexInformer, items []T) {
	f.Helper()
	var visible []any
	for i := range items {
		obj := P(&items[i])
		if obj.GetLabels()[resources.LabelManagedBy] != resources.ManagedBy {
			continue
		}
		trimmed, err := trim(obj)
		if err != nil {
			f.Fatal(err)
		}
		visible = append(visible, trimmed)
	}
	if err := informer.GetIndexer().Replace(visible, ""); err != nil {
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
	f.sites.ClearActions()
	f.events()
}

func (f *fixture) reconcile(key cache.ObjectName) []error {
	_, ctx := ktesting.NewTestContext(f.T)
	return f.controller.reconcile(ctx, key)
}

// settle reconciles and lets the queue decide, as a worker does.
func (f *fixture) settle(key cache.ObjectName) result {
	_, ctx := ktesting.NewTestContext(f.T)
	return f.controller.settle(ctx, key, f.controller.reconcile(ctx, key))
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

// writes describes every write since the history was forgotten: "create" is an
// apply without force, "update" one with force and UID.
func (f *fixture) writes() []string {
	f.Helper()
	var all []string
	for _, action := range f.kube.Actions() {
		if slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			continue
		}
		if deletion, ok := action.(clienttesting.DeleteActionImpl); ok {
			if conditions := deletion.DeleteOptions.Preconditions; conditions == nil || conditions.UID == nil {
				f.Errorf("%s %s is deleted whatever its UID", action.GetResource().Resource, deletion.Name)
			}
			all = append(all, fmt.Sprintf("delete %s %s", action.GetResource().Resource, deletion.Name))
			continue
		}
		patch, ok := action.(clienttesting.PatchActionImpl)
		if !ok {
			f.Errorf("unexpected %s of %s", action.GetVerb(), action.GetResource().Resource)
			continue
		}
		var sent struct {
			Kind     string            `json:"kind"`
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if err := json.Unmarshal(patch.Patch, &sent); err != nil {
			f.Fatal(err)
		}
		if patch.PatchOptions.FieldManager != "website-controller" {
			f.Errorf("%s %s was written as %q", sent.Kind, patch.Name, patch.PatchOptions.FieldManager)
		}
		force := ptr.Deref(patch.PatchOptions.Force, false)
		if force != (sent.Metadata.UID != "") {
			f.Errorf("%s %s: force is %t and the UID is %q; they belong together", sent.Kind, patch.Name, force, sent.Metadata.UID)
		}
		if force == (sent.Metadata.ResourceVersion != "") {
			f.Errorf("%s %s: force is %t and the resource version is %q; a create must be nothing but a create", sent.Kind, patch.Name, force, sent.Metadata.ResourceVersion)
		}
		verb := "create"
		if force {
			verb = "update"
		}
		all = append(all, fmt.Sprintf("%s %s %s", verb, sent.Kind, patch.Name))
	}
	for _, action := range f.sites.Actions() {
		if slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			continue
		}
		update, ok := action.(clienttesting.UpdateActionImpl)
		if !ok || update.Subresource != "status" {
			f.Errorf("unexpected %s of %s", action.GetVerb(), action.GetResource().Resource)
			continue
		}
		site := update.Object.(*v1beta1.Website)
		all = append(all, fmt.Sprintf("status %s %d", site.Name, site.Status.AvailableReplicas))
	}
	return all
}

func keyOf(site *v1beta1.Website) cache.ObjectName {
	return cache.MetaObjectToName(site)
}

// requests lists every request since the history was forgotten.
func (f *fixture) requests() []string {
	var all []string
	for _, action := range slices.Concat(f.kube.Actions(), f.sites.Actions()) {
		all = append(all, action.GetVerb()+" "+action.GetResource().Resource)
	}
	return all
}

// snapshot copies everything in the caches.
func (f *fixture) snapshot() map[string]runtime.Object {
	all := map[string]runtime.Object{}
	for _, informer := range []cache.SharedIndexInformer{
		f.websiteInformers.Website().V1beta1().Websites().Informer(),
		f.childInformers.Apps().V1().Deployments().Informer(),
		f.childInformers.Core().V1().Services().Informer(),
		f.childInformers.Core().V1().ConfigMaps().Informer(),
		f.childInformers.Policy().V1().PodDisruptionBudgets().Informer(),
		f.childInformers.Core().V1().Pods().Informer(),
	} {
		for _, obj := range informer.GetIndexer().List() {
			all[fmt.Sprintf("%T %s", obj, obj.(metav1.Object).GetName())] = obj.(runtime.Object).DeepCopyObject()
		}
	}
	return all
}

// refreshWebsites makes the cache show the Websites as they are now.
func (f *fixture) refreshWebsites() {
	f.Helper()
	list, err := f.sites.WebsiteV1beta1().Websites("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	for i := range list.Items {
		f.cacheWebsite(&list.Items[i])
	}
}

// changeWebsite gives a Website that is there the spec and the metadata of
// another, and leaves its status, as an update does.
func (f *fixture) changeWebsite(site *v1beta1.Website) {
	f.Helper()
	current := f.website(site.Name)
	site = site.DeepCopy()
	site.Status, site.Generation = current.Status, current.Generation
	if err := f.sites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), site, site.Namespace); err != nil {
		f.Fatal(err)
	}
	f.cacheWebsite(site)
}

// website returns a Website as it is on the API server.
func (f *fixture) website(name string) *v1beta1.Website {
	f.Helper()
	obj, err := f.sites.Tracker().Get(v1beta1.SchemeGroupVersion.WithResource("websites"), testNamespace, name)
	if err != nil {
		f.Fatal(err)
	}
	return obj.(*v1beta1.Website)
}

// childWrites is writes without those of statuses.
func (f *fixture) childWrites() []string {
	f.Helper()
	return slices.DeleteFunc(f.writes(), func(write string) bool { return strings.HasPrefix(write, "status ") })
}
