package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// state is what a controller has made of a namespace, without what differs from
// one namespace and moment to the next: one entry per object, as JSON.
type state map[string]string

// diff tells what is different in two states.
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
	client   dynamic.Interface
	children []schema.GroupVersionResource
}

func newObserver() (*observer, error) {
	config, err := cluster.AdminConfig()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	children, err := childResources()
	if err != nil {
		return nil, err
	}
	return &observer{client: client, children: children}, nil
}

var (
	websiteResource    = v1beta1.SchemeGroupVersion.WithResource("websites")
	replicaSetResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
)

// read returns the state of a namespace.
func (o *observer) read(ctx context.Context, namespace string) (state, error) {
	seen := state{}
	var objects []unstructured.Unstructured
	for _, resource := range append([]schema.GroupVersionResource{websiteResource, replicaSetResource}, o.children...) {
		list, err := o.client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		objects = append(objects, list.Items...)
	}
	normal := newNormalizer(namespace, objects)
	for _, object := range objects {
		if normal.garbage(object) {
			continue
		}
		name, content, err := normal.entry(object)
		if err != nil {
			return nil, err
		}
		if name != "" {
			seen[name] = content
		}
	}
	return seen, nil
}

// normalizer replaces what is unique to a run.
type normalizer struct {
	unique *strings.Replacer
	uids   sets.Set[types.UID]
	// replicaSets counts those seen, by owner and pods.
	replicaSets map[string]int
}

func newNormalizer(namespace string, objects []unstructured.Unstructured) *normalizer {
	pairs, uids := []string{namespace, "<namespace>"}, sets.New[types.UID]()
	for _, object := range objects {
		uids.Insert(object.GetUID())
		pairs = append(pairs, string(object.GetUID()), fmt.Sprintf("<uid of %s %s>", object.GetKind(), object.GetName()))
		if object.GetKind() != "Service" {
			continue
		}
		ports, _, _ := unstructured.NestedSlice(object.Object, "spec", "ports")
		for _, port := range ports {
			if port, ok := port.(map[string]any); ok && port["nodePort"] != nil {
				pairs = append(pairs, fmt.Sprint(port["nodePort"]), fmt.Sprintf(`"<nodePort of %s>"`, object.GetName()))
			}
		}
		if ip, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP"); ip != "" {
			pairs = append(pairs, ip, "<clusterIP>")
		}
	}
	return &normalizer{unique: strings.NewReplacer(pairs...), uids: uids, replicaSets: map[string]int{}}
}

// garbage reports whether the owner of an object is gone. Garbage collection will
// have it sooner or later.
func (n *normalizer) garbage(object unstructured.Unstructured) bool {
	for _, owner := range object.GetOwnerReferences() {
		if !n.uids.Has(owner.UID) {
			return true
		}
	}
	return object.GetDeletionTimestamp() != nil
}

// entry returns the entry of an object in a state, with an empty name for one
// that does not belong there.
func (n *normalizer) entry(object unstructured.Unstructured) (name, content string, err error) {
	name = object.GetKind() + " " + object.GetName()
	if name == "ConfigMap kube-root-ca.crt" {
		return "", "", nil // kube-controller-manager puts it into every namespace.
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
		// How many there are tells about rollouts. Their names depend on what
		// was there before.
		owner := ""
		for _, reference := range object.GetOwnerReferences() {
			owner = n.unique.Replace(string(reference.UID))
		}
		replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
		kind := fmt.Sprintf("ReplicaSet of %s with %d pods", owner, replicas)
		n.replicaSets[kind]++
		return fmt.Sprintf("%s, number %d", kind, n.replicaSets[kind]), "exists", nil
	default:
		// The status of a child is the work of others; what the Website says
		// of it is compared.
		delete(object.Object, "status")
	}
	data, err := json.Marshal(object.Object)
	if err != nil {
		return "", "", err
	}
	return name, n.unique.Replace(string(data)), nil
}

const v1beta1Kind = "Website"

// ours returns what the controller is known to have written to an object.
func ours(entries []metav1.ManagedFieldsEntry) []any {
	var kept []any
	for _, entry := range entries {
		if entry.Manager == "website-controller" {
			kept = append(kept, fmt.Sprintf("%s %s %s", entry.Operation, entry.Subresource, entry.FieldsV1.GetRawString()))
		}
	}
	slices.SortFunc(kept, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return kept
}

// forgetTimes removes the times from conditions.
func forgetTimes(website map[string]any) {
	conditions, found, _ := unstructured.NestedSlice(website, "status", "conditions")
	if !found {
		return
	}
	for _, condition := range conditions {
		if condition, ok := condition.(map[string]any); ok {
			delete(condition, "lastTransitionTime")
		}
	}
	_ = unstructured.SetNestedSlice(website, conditions, "status", "conditions")
}

// told returns how often users were told what about the Websites of a namespace.
func (o *observer) told(ctx context.Context, namespace string) (map[string]int, error) {
	events, err := kube.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, event := range events.Items {
		if event.Regarding.Kind != v1beta1Kind {
			continue
		}
		about := event.Type + " " + event.Reason + " " + event.Regarding.Name
		if event.Related != nil {
			about += " " + event.Related.Kind
		}
		counts[about]++
	}
	return counts, nil
}
