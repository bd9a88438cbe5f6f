package cached

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
)

// The digests of children that were extracted before: the status of a Deployment that rolls out is written many
// times, and to extract what was applied of it takes longer than all else that is done about such an event. What was
// written here arrives once more from a watch. Digests follow from the keys, so all controllers of a process share
// them.
var (
	// extracted are of children with a generation, which have them until the spec is changed.
	extracted = lru.New(maxExtracted)
	// extractedOnce are of one resourceVersion of a child without a generation.
	extractedOnce = lru.New(maxExtractedOnce)
	// inExtraction are those that are being extracted.
	inExtraction singleflight.Group
)

const (
	// maxExtracted is more than roll out at the same time. One takes a sixth of a kilobyte.
	maxExtracted = 2000
	// maxExtractedOnce is more than are written until they arrive.
	maxExtractedOnce = 100
)

// extractDigest returns the digest of what the controller applied of a child.
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
	// What the API server answers and what a watch delivers arrive at the same time.
	digested, err, _ := inExtraction.Do(key, extracting)
	if err == nil {
		known.Add(key, digested)
	}
	return digested.(Digest), err
}

// extractionKey stands for all that decides what is extracted of a child. The generation stands for
// the spec, and for kinds without one the resourceVersion for everything: the key is empty if there is neither. The
// times at which the fields were written tell apart what has one of these because the store was restored to an
// older state. The Deployment controller notes on a Deployment which revision it has.
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
	annotations := maps.Clone(child.GetAnnotations())
	delete(annotations, revisionAnnotation)
	key := parts(nil).add(string(child.GetUID())).add(version).addMap(child.GetLabels()).addMap(annotations).
		add(string(owners))
	for _, entry := range child.GetManagedFields() {
		if entry.FieldsV1 == nil || hasSpec && !bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) {
			continue
		}
		written := ""
		if entry.Time != nil {
			written = entry.Time.UTC().Format(time.RFC3339Nano)
		}
		for _, part := range []string{entry.Manager, string(entry.Operation), entry.APIVersion, entry.Subresource, written,
			entry.FieldsV1.GetRawString()} {
			key = key.add(part)
		}
	}
	whole := sumOf(key)
	return string(whole[:]), nil
}

// parts are strings, each after its length.
type parts []byte

func (p parts) add(part string) parts {
	return append(binary.AppendUvarint(p, uint64(len(part))), part...)
}

func (p parts) addMap(m map[string]string) parts {
	p = binary.AppendUvarint(p, uint64(len(m)))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		p = p.add(key).add(m[key])
	}
	return p
}
