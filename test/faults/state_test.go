package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// state is the outcome of a namespace, without details that differ between namespaces and runs: one
// entry per object, as JSON.
type state map[string]string

// diff returns the differences between two states.
func (s state) diff(want state) string {
	var lines []string
	for name, content := range want {
		if s[name] != content {
			lines = append(lines, fmt.Sprintf("%s:\n   is %s\n want %s", name, s[name], content))
		}
	}
	for name, content := range s {
		if _, ok := want[name]; !ok {
			lines = append(lines, fmt.Sprintf("%s is too many: %s", name, content))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// observer reads states.
type observer struct {
	client    dynamic.Interface
	resources []schema.GroupVersionResource
	// caches of all namespaces spare a list of each resource for each check of a namespace.
	caches dynamicinformer.DynamicSharedInformerFactory
}

func newObserver(t *testing.T) *observer {
	t.Helper()
	client, err := dynamic.NewForConfig(framework.Cluster.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	children, err := childResources()
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{client: client, caches: dynamicinformer.NewDynamicSharedInformerFactory(client, 0)}
	o.resources = append([]schema.GroupVersionResource{websiteResource, replicaSetResource}, children...)
	for _, resource := range o.resources {
		o.caches.ForResource(resource)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.caches.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		o.caches.Shutdown()
	})
	o.caches.WaitForCacheSync(t.Context().Done())
	return o
}

var (
	websiteResource    = v1beta1.SchemeGroupVersion.WithResource("websites")
	replicaSetResource = appsv1.SchemeGroupVersion.WithResource("replicasets")
	deploymentResource = appsv1.SchemeGroupVersion.WithResource("deployments")
)

// latest returns the states of the worlds, in their order.
func (o *observer) latest(ctx context.Context, worlds []world) ([]state, error) {
	objects := map[string][]unstructured.Unstructured{}
	for _, resource := range o.resources {
		list, err := o.client.Resource(resource).Namespace(scopeOf(worlds)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, object := range list.Items {
			objects[object.GetNamespace()] = append(objects[object.GetNamespace()], object)
		}
	}
	states := make([]state, len(worlds))
	for i, w := range worlds {
		var err error
		if states[i], err = normalized(w.namespace, objects[w.namespace]); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// cached returns the state of a namespace, which may be some milliseconds old, without a request.
func (o *observer) cached(namespace string) (state, error) {
	var objects []unstructured.Unstructured
	for _, resource := range o.resources {
		list, err := o.caches.ForResource(resource).Lister().ByNamespace(namespace).List(labels.Everything())
		if err != nil {
			return nil, err
		}
		for _, object := range list {
			objects = append(objects, *object.(*unstructured.Unstructured).DeepCopy())
		}
	}
	return normalized(namespace, objects)
}

// cachedWorld reads the objects of a world from the caches of its observer.
type cachedWorld struct{ world }

func (c cachedWorld) get(_ context.Context, name string) (*v1beta1.Website, error) {
	return fromCache[v1beta1.Website](c.world, websiteResource, name)
}

func (c cachedWorld) deployment(_ context.Context, name string) (*appsv1.Deployment, error) {
	return fromCache[appsv1.Deployment](c.world, deploymentResource, name)
}

func fromCache[T any](w world, resource schema.GroupVersionResource, name string) (*T, error) {
	object, err := w.observer.caches.ForResource(resource).Lister().ByNamespace(w.namespace).Get(name)
	if err != nil {
		return nil, err
	}
	typed := new(T)
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.(*unstructured.Unstructured).Object, typed)
	return typed, err
}

// normalized returns the state of the objects of a namespace, which it changes.
func normalized(namespace string, objects []unstructured.Unstructured) (state, error) {
	current, normal := state{}, newNormalizer(namespace, objects)
	for _, object := range objects {
		if normal.garbage(object) {
			continue
		}
		name, content, err := normal.entry(object)
		if err != nil {
			return nil, err
		}
		if name != "" {
			current[name] = content
		}
	}
	return current, nil
}

// normalizer replaces values that are unique to a run.
type normalizer struct {
	unique *strings.Replacer
	// nodePorts are the numbers by Service.
	nodePorts map[string]string
	uids      sets.Set[types.UID]
	// replicaSets counts ReplicaSets by owner and pods.
	replicaSets map[string]int
}

func newNormalizer(namespace string, objects []unstructured.Unstructured) *normalizer {
	pairs, uids := []string{namespace, "<namespace>"}, sets.New[types.UID]()
	nodePorts := map[string]string{}
	for _, object := range objects {
		uids.Insert(object.GetUID())
		pairs = append(pairs, string(object.GetUID()), fmt.Sprintf("<uid of %s %s>", object.GetKind(), object.GetName()))
		if object.GetKind() != "Service" {
			continue
		}
		ports, _, _ := unstructured.NestedSlice(object.Object, "spec", "ports")
		for _, port := range ports {
			if port, ok := port.(map[string]any); ok && port["nodePort"] != nil {
				nodePorts[object.GetName()] = fmt.Sprint(port["nodePort"])
			}
		}
		if ip, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); ip != "" {
			pairs = append(pairs, ip, "<clusterIP>")
		}
	}
	return &normalizer{unique: strings.NewReplacer(pairs...), nodePorts: nodePorts, uids: uids,
		replicaSets: map[string]int{}}
}

// garbage reports whether the owner of an object is gone. Garbage collection will delete
// the object.
func (n *normalizer) garbage(object unstructured.Unstructured) bool {
	for _, owner := range object.GetOwnerReferences() {
		if !n.uids.Has(owner.UID) {
			return true
		}
	}
	return object.GetDeletionTimestamp() != nil
}

// entry returns the entry of an object in a state, with an empty name for an object that the
// controller does not create.
func (n *normalizer) entry(object unstructured.Unstructured) (name, content string, err error) {
	name = object.GetKind() + " " + object.GetName()
	if name == "ConfigMap kube-root-ca.crt" {
		return "", "", nil // kube-controller-manager creates it in every namespace.
	}
	metadata, ok := object.Object["metadata"].(map[string]any)
	if !ok {
		return "", "", fmt.Errorf("%s has no metadata", name)
	}
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp"} {
		delete(metadata, field)
	}
	metadata["managedFields"] = ours(object.GetManagedFields())
	switch object.GetKind() {
	case v1beta1Kind:
		forgetTimes(object.Object)
	case "ReplicaSet":
		// Their number shows rollouts. Their names depend on earlier ReplicaSets.
		owner := ""
		for _, reference := range object.GetOwnerReferences() {
			owner = n.unique.Replace(string(reference.UID))
		}
		replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
		kind := fmt.Sprintf("ReplicaSet of %s with %d pods", owner, replicas)
		n.replicaSets[kind]++
		return fmt.Sprintf("%s, number %d", kind, n.replicaSets[kind]), "exists", nil
	default:
		// Other controllers write the status of a child. The Website's report of it is compared instead.
		delete(object.Object, "status")
	}
	data, err := json.Marshal(object.Object)
	if err != nil {
		return "", "", err
	}
	content = n.unique.Replace(string(data))
	for service, port := range n.nodePorts {
		if !strings.Contains(content, port) {
			continue // Most objects have no port, and the search for whole numbers takes long.
		}
		// One number may be a prefix of another.
		whole := regexp.MustCompile(`\b` + port + `\b`)
		content = whole.ReplaceAllString(content, fmt.Sprintf(`"<nodePort of %s>"`, service))
	}
	return name, content, nil
}

const v1beta1Kind = "Website"

// ours returns the managed fields of the controller without times. The condition of a new Website
// has a time of the controller's only if it is written in a later second.
func ours(entries []metav1.ManagedFieldsEntry) []any {
	var kept []any
	for _, entry := range entries {
		if entry.Manager == "website-controller" {
			fields := strings.ReplaceAll(entry.FieldsV1.GetRawString(), `"f:lastTransitionTime":{},`, "")
			kept = append(kept, fmt.Sprintf("%s %s %s", entry.Operation, entry.Subresource, fields))
		}
	}
	slices.SortFunc(kept, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return kept
}

// forgetTimes removes the times from conditions and from the history, and the cause of a
// release: it is recorded when the commit is published, which a fault can delay until the spec
// has been reconciled.
func forgetTimes(website map[string]any) {
	for field, times := range map[string][]string{"conditions": {"lastTransitionTime"},
		"history": {"cause", "observedTime", "publishedTime"}} {
		entries, found, _ := unstructured.NestedSlice(website, "status", field)
		if !found {
			continue
		}
		for _, entry := range entries {
			if entry, ok := entry.(map[string]any); ok {
				maps.DeleteFunc(entry, func(name string, _ any) bool { return slices.Contains(times, name) })
			}
		}
		_ = unstructured.SetNestedSlice(website, entries, "status", field)
	}
}

// reportedEvents counts the events about the Websites of each namespace, by type and reason.
func reportedEvents(ctx context.Context, worlds []world) (map[string]map[string]int, error) {
	events, err := kube.EventsV1().Events(scopeOf(worlds)).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	counts := map[string]map[string]int{}
	for _, w := range worlds {
		counts[w.namespace] = map[string]int{}
	}
	for _, event := range events.Items {
		of := counts[event.Namespace]
		if of == nil || event.Regarding.Kind != v1beta1Kind {
			continue
		}
		about := event.Type + " " + event.Reason + " " + event.Regarding.Name
		if event.Related != nil {
			about += " " + event.Related.Kind
		}
		of[about]++
	}
	return counts, nil
}
