package children

import (
	"maps"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const (
	// maxOwner bounds the parts of an owner reference, of which the API server accepts any length. No name of an
	// object is longer.
	maxOwner = 253
	// maxNote is longer than what controllers note in an annotation, a number or a word.
	maxNote = 32
)

// trimMetadata keeps of the metadata of a child what identifies it, its owner and what controllers
// have noted. Labels are read of orphans only.
func trimMetadata(child metav1.Object) {
	var labels map[string]string
	if _, _, owned := OwnerOf(child); !owned {
		labels = PickLabels(child.GetLabels(), resources.LabelManagedBy, resources.LabelController)
	}
	child.SetLabels(labels)
	child.SetAnnotations(noted(child.GetAnnotations()))
	child.SetOwnerReferences(TrimOwners(child.GetOwnerReferences()))
	child.SetFinalizers(nil)
	child.SetGenerateName("")
	namespace := child.GetNamespace()
	Intern(&namespace)
	child.SetNamespace(namespace)
}

// sharedNotes are the last annotations that noted has returned.
var sharedNotes = lru.New(1000)

// noted returns the annotations that are read, among others. Children with the same share a
// map, as most have a low generation: what is in the caches is not changed.
func noted(annotations map[string]string) map[string]string {
	notes := map[string]string{}
	for _, key := range []string{GenerationAnnotation, LimitedRolloutAnnotation, revisionAnnotation} {
		if value, ok := annotations[key]; ok && len(value) <= maxNote {
			notes[key] = value
		}
	}
	key := notes[GenerationAnnotation] + "/" + notes[LimitedRolloutAnnotation] + "/" + notes[revisionAnnotation]
	if cached, known := sharedNotes.Get(key); known {
		if shared, ok := cached.(map[string]string); ok && maps.Equal(shared, notes) {
			return shared
		}
	}
	sharedNotes.Add(key, notes)
	return notes
}

// TrimOwners returns the reference to the controller of an object, if there is one: other owners are not
// read. What is too long to name anything is emptied.
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

// PickLabels returns the labels with some keys.
func PickLabels(labels map[string]string, keys ...string) map[string]string {
	picked := make(map[string]string, len(keys))
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			picked[key] = value
		}
	}
	return picked
}

// internKeys shares the keys of labels, which are the same on all children. A copy is returned.
func internKeys(labels map[string]string) map[string]string {
	interned := make(map[string]string, len(labels))
	for key, value := range labels {
		Intern(&key)
		interned[key] = value
	}
	return interned
}

// Intern makes a string share its memory with the same ones of other objects.
func Intern[S ~string](s *S) { *s = unique.Make(*s).Value() }
