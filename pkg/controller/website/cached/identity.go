package cached

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Identity identifies an object in a cache. A metav1.ObjectMeta takes four times its memory.
type Identity struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
}

func identityOf(object metav1.Object) Identity {
	return Identity{Namespace: interned(object.GetNamespace()), Name: object.GetName(), UID: object.GetUID(),
		ResourceVersion: object.GetResourceVersion()}
}

// GetNamespace returns the namespace.
func (i *Identity) GetNamespace() string { return i.Namespace }

// GetName returns the name.
func (i *Identity) GetName() string { return i.Name }

// GetObjectMeta returns the identity in the form in which caches of client-go read it.
func (i *Identity) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: i.Namespace, Name: i.Name, UID: i.UID, ResourceVersion: i.ResourceVersion}
}
