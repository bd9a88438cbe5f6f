package website

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitescheme "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/scheme"
)

// childScheme has the groups of all children.
var childScheme = runtime.NewScheme()

func init() {
	utilruntime.Must(appsv1.AddToScheme(childScheme))
	utilruntime.Must(corev1.AddToScheme(childScheme))
	utilruntime.Must(policyv1.AddToScheme(childScheme))
}

// newTracker returns a tracker as in kubefake.NewClientset, but with a smaller scheme: each write
// builds and searches a list of all its kinds.
func newTracker() clienttesting.ObjectTracker {
	return clienttesting.NewFieldManagedObjectTracker(childScheme,
		serializer.NewCodecFactory(childScheme).UniversalDecoder(),
		applyconfigurations.NewTypeConverter(childScheme))
}

// applyLikeAServer adds server behaviour to the fake that the controller relies on: UIDs, resource
// versions, and that an apply with a UID applies to that object only.
func (f *fixture) applyLikeAServer(action clienttesting.Action) (bool, runtime.Object, error) {
	return f.applyWith(f.tracker, f.tracker, action)
}

// applyWebsiteLikeAServer is applyLikeAServer for Websites, whose schema is missing in the fake.
func (f *fixture) applyWebsiteLikeAServer(action clienttesting.Action) (bool, runtime.Object, error) {
	merging := clienttesting.NewFieldManagedObjectTracker(websitescheme.Scheme, websitescheme.Codecs.UniversalDecoder(),
		managedfields.NewDeducedTypeConverter())
	before, err := f.websites.Tracker().Get(action.GetResource(), action.GetNamespace(),
		action.(clienttesting.PatchActionImpl).Name)
	if err == nil {
		err = merging.Add(before)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return true, nil, err
	}
	return f.applyWith(f.websites.Tracker(), merging, action)
}

// applyWith applies a patch to the object in tracker, merging it in another tracker.
func (f *fixture) applyWith(tracker, merging clienttesting.ObjectTracker, action clienttesting.Action) (bool,
	runtime.Object, error) {
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
	before, err := tracker.Get(resource, patch.Namespace, patch.Name)
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
			return true, nil, apierrors.NewConflict(resource.GroupResource(), patch.Name,
				fmt.Errorf("the object has been modified"))
		}
		// The resource version does not matter for an object that does not exist yet.
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
	_, after, err := clienttesting.ObjectReaction(merging)(action)
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
	if f.generations {
		object.SetGeneration(object.GetGeneration() + 1)
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
	case *appsv1.ReplicaSet:
		return appsv1.SchemeGroupVersion.WithResource("replicasets")
	case *corev1.Service:
		return corev1.SchemeGroupVersion.WithResource("services")
	case *corev1.ConfigMap:
		return corev1.SchemeGroupVersion.WithResource("configmaps")
	case *corev1.Pod:
		return corev1.SchemeGroupVersion.WithResource("pods")
	case *v1beta1.Website:
		return v1beta1.SchemeGroupVersion.WithResource("websites")
	case *policyv1.PodDisruptionBudget:
		return policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	default:
		panic(fmt.Sprintf("no resource for %T", obj))
	}
}

// put writes an object as another client. The caller holds the lock.
func (f *fixture) put(obj object) error {
	f.version++
	obj.SetResourceVersion(strconv.Itoa(f.version))
	resource := resourceOf(obj)
	tracker := f.tracker
	if resource.Group == v1beta1.GroupName {
		tracker = f.websites.Tracker()
	}
	err := tracker.Update(resource, obj, obj.GetNamespace(), metav1.UpdateOptions{FieldManager: "another-client"})
	if apierrors.IsNotFound(err) {
		err = tracker.Create(resource, obj, obj.GetNamespace(), metav1.CreateOptions{FieldManager: "another-client"})
	}
	return err
}

// store writes an object without the controller noticing.
func (f *fixture) store(obj object) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.put(obj); err != nil {
		f.Fatal(err)
	}
}

// edit changes a child without the controller noticing, in one step.
func edit[T object](f *fixture, name string, change func(T)) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var zero T
	obj, err := f.tracker.Get(resourceOf(zero), testNamespace, name)
	if err != nil {
		f.Fatal(err)
	}
	change(obj.(T))
	if err := f.put(obj.(T)); err != nil {
		f.Fatal(err)
	}
}

// remove deletes an object without the controller noticing.
func (f *fixture) remove(obj object) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.tracker.Delete(resourceOf(obj), obj.GetNamespace(), obj.GetName()); err != nil {
		f.Fatal(err)
	}
}

// live returns a child from the API server, or nil.
func live[T object](f *fixture, name string) (found T, ok bool) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var zero T
	obj, err := f.tracker.Get(resourceOf(zero), testNamespace, name)
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
	return must[*corev1.ConfigMap](f, testConfigMap)
}

func (f *fixture) agentConfigMap() *corev1.ConfigMap {
	f.Helper()
	return must[*corev1.ConfigMap](f, testAgentConfigMap)
}

// configMapNames returns the names of the ConfigMaps with nginx configurations.
func (f *fixture) configMapNames() []string {
	f.Helper()
	list, err := f.kube.CoreV1().ConfigMaps(testNamespace).List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	for _, configMap := range list.Items {
		if !resources.IsAgentConfigMap(configMap.Name) {
			names = append(names, configMap.Name)
		}
	}
	return names
}

func must[T object](f *fixture, name string) T {
	f.Helper()
	obj, ok := live[T](f, name)
	if !ok {
		f.Fatalf("there is no %T %q", obj, name)
	}
	return obj
}
