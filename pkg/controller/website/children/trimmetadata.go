package children

import (
	"maps"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
)

// trimMetadata keeps of the metadata of a child its owner and what the controller has noted.
// Labels are read of orphans only.
func trimMetadata(child metav1.Object) {
	if _, _, owned := OwnerOf(child); owned {
		child.SetLabels(nil)
	}
	child.SetAnnotations(noted(child.GetAnnotations()))
	namespace := child.GetNamespace()
	Intern(&namespace)
	child.SetNamespace(namespace)
	owners := child.GetOwnerReferences()
	for i := range owners {
		InternOwner(&owners[i])
	}
}

// sharedNotes are the last annotations that noted has returned.
var sharedNotes = lru.New(100)

// noted returns the annotations of the controller among others. Children with the same share a
// map, as most have a low generation: what is in the caches is not changed.
func noted(annotations map[string]string) map[string]string {
	notes := map[string]string{}
	for _, key := range []string{GenerationAnnotation, LimitedRolloutAnnotation} {
		if value, ok := annotations[key]; ok {
			notes[key] = value
		}
	}
	key := notes[GenerationAnnotation] + "/" + notes[LimitedRolloutAnnotation]
	if cached, known := sharedNotes.Get(key); known {
		if shared, ok := cached.(map[string]string); ok && maps.Equal(shared, notes) {
			return shared
		}
	}
	sharedNotes.Add(key, notes)
	return notes
}

// InternOwner shares what is the same in many references.
func InternOwner(owner *metav1.OwnerReference) {
	Intern(&owner.APIVersion)
	Intern(&owner.Kind)
}

// InternKeys shares the keys of labels, which are the same on all children. A copy is returned.
func InternKeys(labels map[string]string) map[string]string {
	interned := make(map[string]string, len(labels))
	for key, value := range labels {
		Intern(&key)
		interned[key] = value
	}
	return interned
}

// Intern makes a string share its memory with the same ones of other objects.
func Intern[S ~string](s *S) { *s = unique.Make(*s).Value() }
