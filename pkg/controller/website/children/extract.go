package children

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	websitev1beta1ac "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
)

// What extracts the applied fields of each kind. kube-apiserver stores the defaults of all keys of lists;
// those of Websites are in the schema only, so they are extracted with it.
var (
	extractDeployment          = extractor[appsv1.Deployment](appsv1ac.Deployment)
	extractConfigMap           = extractor[corev1.ConfigMap](corev1ac.ConfigMap)
	extractService             = extractor[corev1.Service](corev1ac.Service)
	extractPodDisruptionBudget = extractor[policyv1.PodDisruptionBudget](policyv1ac.PodDisruptionBudget)
	extractIngress             = extractor[networkingv1.Ingress](networkingv1ac.Ingress)
	extractHTTPRoute           = extractor[gatewayv1.HTTPRoute](gatewayv1ac.HTTPRoute)
	extractListenerSet         = extractor[gatewayv1.ListenerSet](gatewayv1ac.ListenerSet)
	extractWebsite             = websitev1beta1ac.ExtractWebsite
)

// extractor returns what extracts from a child the fields that a field manager applied, given the
// constructor of their apply configuration. It is the Extract function of client-go without the schema of
// the kind: the managed fields themselves say which lists have keys. That takes a third of the time, and
// the schema need not be in memory. And it takes what kube-apiserver accepts with a warning,
// and the schema does not: lists with two entries of one key, such as an environment variable that another client
// has set twice. An apply mends them.
func extractor[S any, T interface {
	*S
	Object
}, A ApplyConfiguration[A]](newConfiguration func(name, namespace string) A) func(child T,
	fieldManager string) (A, error) {
	return func(child T, fieldManager string) (A, error) {
		applied := newConfiguration(child.GetName(), child.GetNamespace())
		entry := appliedEntry(child, fieldManager)
		if entry == nil || entry.FieldsV1 == nil {
			return applied, nil
		}
		sets, err := fieldSets(entry.FieldsV1)
		if err != nil {
			return applied, fmt.Errorf("reading managed fields: %w", err)
		}
		// The managed fields are most of a child, and are not among what is applied.
		stripped := *child
		T(&stripped).SetManagedFields(nil)
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&stripped)
		if err != nil {
			return applied, fmt.Errorf("converting what has managed fields: %w", err)
		}
		kind, apiVersion := *applied.GetKind(), *applied.GetAPIVersion()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(sets.members(object), applied); err != nil {
			return applied, fmt.Errorf("converting what was applied: %w", err)
		}
		return applied.WithKind(kind).WithAPIVersion(apiVersion).WithName(child.GetName()).
			WithNamespace(child.GetNamespace()), nil
	}
}

// members returns the fields of an object that are in a set.
func members(object map[string]any, set *fieldpath.Set) map[string]any {
	found := map[string]any{}
	for name, field := range object {
		if member, ok := memberOf(field, set, fieldpath.PathElement{FieldName: &name}); ok {
			found[name] = member
		}
	}
	return found
}

// memberOf returns what of a field, or of an item of a list, is in the set of that which contains
// it: all of it, if the set does not say which parts.
func memberOf(field any, set *fieldpath.Set, element fieldpath.PathElement) (any, bool) {
	subset, ok := set.Children.Get(element)
	if !ok {
		return field, set.Members.Has(element)
	}
	switch field := field.(type) {
	case map[string]any:
		return members(field, subset), true
	case []any:
		return items(field, subset), true
	default:
		return field, true
	}
}

// items returns the items of a list that are in a set, in the order of the list. Of items with the
// same key, all are in it.
func items(list []any, set *fieldpath.Set) []any {
	var found []any
	elementOf := elementsLike(set)
	for _, item := range list {
		element, ok := elementOf(item)
		if !ok {
			continue
		}
		if member, ok := memberOf(item, set, element); ok {
			found = append(found, member)
		}
	}
	return found
}

// elementsLike returns what identifies the items of a list as a set of some of them does: by their
// key, or by their value.
func elementsLike(set *fieldpath.Set) func(item any) (fieldpath.PathElement, bool) {
	var one fieldpath.PathElement
	set.Iterate(func(path fieldpath.Path) { one = path[0] })
	if one.Key == nil {
		return func(item any) (fieldpath.PathElement, bool) {
			return fieldpath.ValueElement(value.NewValueInterface(item)), true
		}
	}
	return func(item any) (fieldpath.PathElement, bool) {
		fields, ok := item.(map[string]any)
		key := make(value.FieldList, 0, len(*one.Key))
		for _, part := range *one.Key {
			key = append(key, value.Field{Name: part.Name, Value: value.NewValueInterface(fields[part.Name])})
		}
		return fieldpath.PathElement{Key: &key}, ok
	}
}
