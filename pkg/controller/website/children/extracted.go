package children

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
)

// extracted has the digests of children that were extracted before: the status of a
// Deployment that rolls out is written many times, and to extract what was applied of it takes
// longer than all else that is done about such an event. Digests follow from the keys, so all
// controllers of a process share them.
var extracted = lru.New(maxExtracted)

// maxExtracted is more than roll out at the same time. One takes half a kilobyte.
const maxExtracted = 2000

// extractDigest returns the digest of what the controller applied of a child.
func extractDigest[T Object, A ApplyConfiguration[A]](child T, extract func(child T, fieldManager string) (A, error), digest func(A) (Digest, error)) (Digest, error) {
	key, err := extractionKey(child)
	if err != nil {
		return Digest{}, err
	}
	if cached, known := extracted.Get(key); known {
		return cached.(Digest), nil
	}
	applied, err := extract(child, FieldManager)
	if err != nil {
		return Digest{}, err
	}
	digested, err := digest(applied)
	if err == nil && key != nil {
		extracted.Add(key, digested)
	}
	return digested, err
}

// extractionKey stands for all that decides what is extracted of a child. The generation stands for
// the spec: the key is nil for kinds without one. The times at which the spec was written tell apart
// what has one generation because the store was restored to an older state. The
// Deployment controller notes on a Deployment which revision it has.
func extractionKey(child metav1.Object) (any, error) {
	if entry := appliedEntry(child, FieldManager); child.GetGeneration() == 0 || entry == nil || entry.Time == nil {
		return nil, nil
	}
	annotations := maps.Clone(child.GetAnnotations())
	delete(annotations, revisionAnnotation)
	identity := metav1.ObjectMeta{
		UID: child.GetUID(), Generation: child.GetGeneration(),
		Labels: child.GetLabels(), Annotations: annotations, OwnerReferences: child.GetOwnerReferences(),
		ManagedFields: slices.DeleteFunc(slices.Clone(child.GetManagedFields()), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.FieldsV1 == nil || !strings.Contains(entry.FieldsV1.GetRawString(), `"f:spec"`)
		}),
	}
	data, err := json.Marshal(identity)
	if err != nil {
		return nil, fmt.Errorf("encoding the metadata of a child: %w", err)
	}
	return sha256.Sum256(data), nil
}
