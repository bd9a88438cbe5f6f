package cached

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// fieldsOf returns the Fields of a kind, given the constructor of its apply configuration. Its
// Extract function is like client-go's without the schema of the kind: the managed fields themselves
// show which lists have keys. That takes a third of the time, and the schema need not be in memory.
// Moreover it accepts lists with two entries of one key, as kube-apiserver does with a warning and
// the schema does not, such as an environment variable that another client has set twice. An apply
// fixes them.
func fieldsOf[S any, T interface {
	*S
	Object
}, A ApplyConfiguration[A]](newConfiguration func(name, namespace string) A,
	digest func(A) (Digest, error)) Fields[T, A] {
	empty := newConfiguration("", "")
	kind := &metav1.TypeMeta{APIVersion: *empty.GetAPIVersion(), Kind: *empty.GetKind()}
	return Fields[T, A]{Digest: digest, kind: kind, Extract: func(child T, fieldManager string) (A, error) {
		applied := newConfiguration(child.GetName(), child.GetNamespace())
		entry := appliedEntry(child, fieldManager)
		if entry == nil || entry.FieldsV1 == nil {
			return applied, nil
		}
		sets, err := fieldSets(entry.FieldsV1)
		if err != nil {
			return applied, fmt.Errorf("reading managed fields: %w", err)
		}
		// The managed fields are most of a child, and not among the applied fields.
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
	}}
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

// memberOf returns the part of a field, or of an item of a list, that is in the set of its parent:
// the whole field, if the set has no parts of it.
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

// items returns the items of a list that are in a set, in the order of the list. If several items
// have the same key, the set has all of them.
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

// elementsLike returns a function that identifies the items of a list in the same way as a set: by
// their key, or by their value.
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
