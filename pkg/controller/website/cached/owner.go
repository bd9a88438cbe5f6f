package cached

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
)

// maxOwner limits the parts of an owner reference, which can have any length on the API server. No
// name of an object is longer.
const maxOwner = 253

// OwnerOf returns the Website that controls a child, by its reference alone.
func OwnerOf(child metav1.Object) (cache.ObjectName, types.UID, bool) {
	owner := metav1.GetControllerOfNoCopy(child)
	if owner == nil || !api.IsReference(owner) {
		return cache.ObjectName{}, "", false
	}
	return cache.NewObjectName(child.GetNamespace(), owner.Name), owner.UID, true
}

// TrimOwners returns the reference to the controller of an object, if there is one: other owners are
// not needed. Parts that are too long for a name are emptied.
func TrimOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	for _, owner := range owners {
		if !ptr.Deref(owner.Controller, false) {
			continue
		}
		for _, part := range []*string{&owner.APIVersion, &owner.Kind, &owner.Name, (*string)(&owner.UID)} {
			if len(*part) > maxOwner {
				*part = ""
			}
		}
		Intern(&owner.APIVersion)
		Intern(&owner.Kind)
		return []metav1.OwnerReference{owner}
	}
	return nil
}

// ByOwner indexes children by their namespace and the UID of the Website that controls them: an
// object in another namespace can have a reference with that UID as well.
const ByOwner = "owner"

// IndexByOwner returns the indexer ByOwner.
func IndexByOwner() cache.Indexers {
	return cache.Indexers{ByOwner: func(obj any) ([]string, error) {
		child, ok := obj.(metav1.ObjectMetaAccessor)
		if !ok {
			return nil, nil
		}
		if owner, uid, ok := OwnerOf(child.GetObjectMeta()); ok {
			return []string{OwnerKey(owner.Namespace, uid)}, nil
		}
		return nil, nil
	}}
}

// OwnerKey returns a key of ByOwner.
func OwnerKey(namespace string, uid types.UID) string {
	return cache.NewObjectName(namespace, string(uid)).String()
}

// Indexed returns the objects of an index with a value.
func Indexed[T any](indexer cache.Indexer, name, value string) []T {
	indexed, err := indexer.ByIndex(name, value)
	if err != nil {
		return nil // Only an index that does not exist is an error.
	}
	var objects []T
	for _, obj := range indexed {
		if object, ok := obj.(T); ok {
			objects = append(objects, object)
		}
	}
	return objects
}
