package costlybodies

import (
	"bytes"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// protobufMagic begins what Kubernetes encodes as protobuf. A runtime.Unknown follows.
var protobufMagic = []byte("k8s\x00")

const (
	// maxDepth is deeper than the spec of a Website is nested.
	maxDepth = 16
	// maxFields is the number of texts and messages of a body. Messages that are repeated are merged by the decoder,
	// lists in them are joined, so the limit of each list is not enough.
	maxFields = 10 * maxItems
)

// maxQuantities is the size of a member of the spec that has quantities. A quantity takes some 90 bytes for each of its bytes, as its
// decoder calls itself for each group of fields within another.
const maxQuantities = 64 << 10

// The numbers of fields: of the type and the object in a runtime.Unknown, of the kind in the type, of the metadata and
// the spec in the object, of what is checked in the metadata, of the value in an entry of a map, of the fields in an
// entry of the managed fields and of the JSON in them, and of what has quantities in a spec. A spec of v1alpha1
// has fewer fields.
const (
	typeNumber, rawNumber                                         = 1, 2
	kindNumber                                                    = 2
	metadataNumber, specNumber                                    = 1, 2
	annotationsNumber, ownerReferencesNumber, managedFieldsNumber = 12, 13, 17
	valueNumber                                                   = 2
	fieldsNumber, fieldsJSONNumber                                = 7, 1
	resourcesNumber, storageNumber                                = 8, 17
)

// message is an object as protobuf.
type message struct {
	// fields, references and entries are the numbers of all fields, of owner references, and of entries of the managed
	// fields.
	fields, references, entries int
	// managed counts the members in managed fields.
	managed document
}

// checkProtobuf looks for costly quantities and numbers of items.
func checkProtobuf(unknown []byte) error {
	m := &message{managed: document{within: true, inManaged: true}}
	return m.eachField(unknown, func(number int32, raw []byte) error {
		switch number {
		case typeNumber:
			return m.eachField(raw, checkType)
		case rawNumber:
			return m.eachField(raw, m.checkPart)
		}
		return nil
	})
}

// checkType refuses lists, which would be decoded before it is found that a request has none.
func checkType(number int32, text []byte) error {
	if number == kindNumber && bytes.HasSuffix(text, []byte("List")) {
		return apierrors.NewBadRequest(fmt.Sprintf("the body of the request is a %.80q, which no request takes", text))
	}
	return nil
}

// checkPart checks the metadata, the spec, or the status.
func (m *message) checkPart(number int32, part []byte) error {
	switch number {
	case metadataNumber:
		return m.eachField(part, m.checkMetadata)
	case specNumber:
		return m.eachField(part, func(number int32, value []byte) error {
			if number == resourcesNumber || number == storageNumber {
				if len(value) > maxQuantities {
					return tooMany("bytes of the resources, and of the storage, of a Website", maxQuantities)
				}
				// Text is in one piece, so it is found in whichever message it is.
				if err := checkQuantity(string(value)); err != nil {
					return err
				}
			}
			return m.checkItems(value, 0)
		})
	default:
		return m.checkItems(part, 0)
	}
}

func (m *message) checkMetadata(number int32, value []byte) error {
	switch number {
	case ownerReferencesNumber:
		if m.references++; m.references > maxOwnerReferences {
			return tooMany("owner references", maxOwnerReferences)
		}
	case managedFieldsNumber:
		if m.entries++; m.entries > maxManagedFields {
			return tooMany("entries of the managed fields", maxManagedFields)
		}
		return m.eachValue(value, fieldsNumber, func(fields []byte) error {
			return m.eachValue(fields, fieldsJSONNumber, m.checkManaged)
		})
	case annotationsNumber:
		return m.eachValue(value, valueNumber, func(text []byte) error { return checkText(string(text)) })
	}
	return nil
}

// checkManaged checks the fields of an entry, which are JSON.
func (m *message) checkManaged(fields []byte) error {
	m.managed.open = nil
	return m.managed.check(fields)
}

// eachValue calls do with each value of one field.
func (m *message) eachValue(within []byte, wanted int32, do func(value []byte) error) error {
	return m.eachField(within, func(number int32, value []byte) error {
		if number != wanted {
			return nil
		}
		return do(value)
	})
}

// checkItems counts the items of lists without their types: a field is taken as a message, also where it is text.
func (m *message) checkItems(value []byte, depth int) error {
	if depth > maxDepth {
		return nil
	}
	return m.eachField(value, func(_ int32, value []byte) error { return m.checkItems(value, depth+1) })
}

// eachField calls do with each text, and each message, of a message.
func (m *message) eachField(value []byte, do func(number int32, value []byte) error) error {
	items := map[int32]int{}
	for {
		number, field, rest, ok := nextField(value)
		if !ok {
			return nil
		}
		value = rest
		if field == nil {
			continue
		}
		m.fields++
		if items[number]++; items[number] > maxItems || m.fields > maxFields {
			return tooMany("items of a list", maxItems)
		}
		if err := do(number, field); err != nil {
			return err
		}
	}
}
