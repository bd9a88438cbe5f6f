package cached

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// memberSets are managed fields by the member of the object, in the notation of managed fields.
type memberSets map[string]*fieldpath.Set

// readSets are decoded sets by their encoding. The metadata of each child has the UID of its owner,
// but the specs of most have the same fields, and decoding them took a third of an extraction. Sets
// are read-only.
var readSets = lru.New(maxReadSets)

const (
	// maxReadSets is more than the number of sets in most installations.
	maxReadSets = 64
	// maxReadSetBytes is more than any child of the controller has. Another client can write larger
	// ones in its name.
	maxReadSetBytes = 16 << 10
	metadataSet     = "f:metadata"
)

// fieldSets decodes managed fields.
func fieldSets(fields *metav1.FieldsV1) (memberSets, error) {
	var encoded map[string]json.RawMessage
	if err := json.Unmarshal(fields.GetRawBytes(), &encoded); err != nil {
		return nil, fmt.Errorf("decoding them: %w", err)
	}
	sets := memberSets{}
	for member, one := range encoded {
		key, isShared := "", member != metadataSet && len(one) <= maxReadSetBytes
		if isShared {
			key = member + string(one)
			if read, found := readSets.Get(key); found {
				sets[member] = read.(*fieldpath.Set)
				continue
			}
		}
		set := &fieldpath.Set{}
		alone, err := json.Marshal(map[string]json.RawMessage{member: one})
		if err != nil {
			return nil, fmt.Errorf("encoding those of %s: %w", member, err)
		}
		if err := set.FromJSON(bytes.NewReader(alone)); err != nil {
			return nil, fmt.Errorf("decoding those of %s: %w", member, err)
		}
		if isShared {
			readSets.Add(key, set)
		}
		sets[member] = set
	}
	return sets, nil
}

// members returns the fields of an object that are in the sets.
func (s memberSets) members(object map[string]any) map[string]any {
	found := map[string]any{}
	for name, field := range object {
		set := s["f:"+name]
		if set == nil {
			continue
		}
		if member, ok := memberOf(field, set, fieldpath.PathElement{FieldName: &name}); ok {
			found[name] = member
		}
	}
	return found
}
