package costlybodies

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// protobufMagic begins what Kubernetes encodes as protobuf. A runtime.Unknown follows.
var protobufMagic = []byte("k8s\x00")

// maxDepth is deeper than the spec of a Website is nested.
const maxDepth = 16

// The numbers of fields: of the object in a runtime.Unknown, of the metadata in the object, of what is checked in the
// metadata, and of the value in an entry of a map.
const (
	rawNumber, metadataNumber                = 2, 1
	annotationsNumber, ownerReferencesNumber = 12, 13
	valueNumber                              = 2
)

// checkProtobuf looks for costly quantities and numbers of items. The decoder reads until the first error, and so
// does this.
func checkProtobuf(unknown []byte) error {
	return eachField(unknown, func(number protowire.Number, raw []byte) error {
		if number != rawNumber {
			return nil
		}
		return eachField(raw, func(number protowire.Number, value []byte) error {
			if number == metadataNumber {
				return checkMetadata(value)
			}
			return checkMessage(value, 0)
		})
	})
}

func checkMetadata(metadata []byte) error {
	references := 0
	return eachField(metadata, func(number protowire.Number, value []byte) error {
		switch number {
		case ownerReferencesNumber:
			if references++; references > maxOwnerReferences {
				return tooMany("owner references", maxOwnerReferences)
			}
		case annotationsNumber:
			return eachField(value, func(number protowire.Number, text []byte) error {
				if number != valueNumber {
					return nil
				}
				return checkText(string(text))
			})
		}
		return nil
	})
}

// checkMessage checks a part of a spec without its type: a field is taken as text and as a message, whichever it is.
func checkMessage(message []byte, depth int) error {
	if depth > maxDepth {
		return nil
	}
	return eachField(message, func(_ protowire.Number, value []byte) error {
		if err := checkQuantity(string(value)); err != nil {
			return err
		}
		return checkMessage(value, depth+1)
	})
}

// eachField calls do with each text, and each message, of a message.
func eachField(message []byte, do func(protowire.Number, []byte) error) error {
	items := map[protowire.Number]int{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return nil
		}
		field := message[:n]
		message = message[n:]
		if kind != protowire.BytesType {
			continue
		}
		if items[number]++; items[number] > maxItems {
			return tooMany("items of a list", maxItems)
		}
		value, _ := protowire.ConsumeBytes(field)
		if err := do(number, value); err != nil {
			return err
		}
	}
	return nil
}
