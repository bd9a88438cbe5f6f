package cached

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
)

// The digests of children that were extracted before: the status of a Deployment that rolls out is
// written many times, and extracting its applied fields takes longer than all other work for such an
// event. A child that was written here arrives once more from a watch. Digests are functions of the
// keys, so all controllers of a process share them.
var (
	// extracted has children with a generation. Their digest stays the same until the spec is
	// changed.
	extracted = lru.New(maxExtracted)
	// extractedOnce has children without a generation, at one resourceVersion.
	extractedOnce = lru.New(maxExtractedOnce)
	// inExtraction has the current extractions.
	inExtraction singleflight.Group
)

const (
	// maxExtracted is more than the number of concurrent rollouts. An entry takes a sixth of a
	// kilobyte.
	maxExtracted = 500
	// maxExtractedOnce is more than the number of writes that have not arrived from the watch.
	maxExtractedOnce = 100
)

// extractDigest returns the digest of the applied fields of a child.
func extractDigest[T Object, A ApplyConfiguration[A]](child T, extract func(child T, fieldManager string) (A, error),
	digest func(A) (Digest, error)) (Digest, error) {
	known := extracted
	if child.GetGeneration() == 0 {
		known = extractedOnce
	}
	key, err := extractionKey(child)
	if err != nil {
		return Digest{}, err
	}
	if cached, found := known.Get(key); found {
		return cached.(Digest), nil
	}
	extracting := func() (any, error) {
		applied, err := extract(child, FieldManager)
		if err != nil {
			return Digest{}, err
		}
		return digest(applied)
	}
	if key == "" {
		digested, err := extracting()
		return digested.(Digest), err
	}
	// The response of the API server and the event of the watch arrive at the same time.
	digested, err, _ := inExtraction.Do(key, extracting)
	if err == nil {
		known.Add(key, digested)
	}
	return digested.(Digest), err
}

// extractionKey has all values that determine the extracted fields of a child. The generation stands
// for the spec, and the resourceVersion for all fields of kinds without a generation: the key is
// empty if there is neither. The times of the managed fields distinguish children with the same
// generation after a restore of the store to an older state. The Deployment controller annotates a
// Deployment with its revision.
func extractionKey(child metav1.Object) (string, error) {
	version, hasSpec := child.GetResourceVersion(), child.GetGeneration() != 0
	if hasSpec {
		version = strconv.FormatInt(child.GetGeneration(), 10)
	}
	if entry := appliedEntry(child, FieldManager); version == "" || entry == nil || entry.Time == nil {
		return "", nil
	}
	owners, err := json.Marshal(child.GetOwnerReferences())
	if err != nil {
		return "", fmt.Errorf("encoding the owners of a child: %w", err)
	}
	key := map[string]string{"UID": string(child.GetUID()), "version": version, "owners": string(owners)}
	for name, value := range child.GetLabels() {
		key["label "+name] = value
	}
	for name, value := range child.GetAnnotations() {
		if name != revisionAnnotation {
			key["annotation "+name] = value
		}
	}
	for i, entry := range child.GetManagedFields() {
		if entry.FieldsV1 == nil || hasSpec && !bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) {
			continue
		}
		key[fmt.Sprintf("fields %d %q %s %q %q %v", i, entry.Manager, entry.Operation, entry.APIVersion, entry.Subresource,
			entry.Time)] = entry.FieldsV1.GetRawString()
	}
	whole := hashData(key)
	return string(whole[:]), nil
}
