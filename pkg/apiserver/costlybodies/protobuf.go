package costlybodies

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// protobufMagic begins what Kubernetes encodes as protobuf. A runtime.Unknown follows.
var protobufMagic = []byte("k8s\x00")

const (
	// maxDepth is deeper than a Website is nested, with its runtime.Unknown.
	maxDepth = 16
	// metadataDepth is that of the metadata, and ownerReferencesNumber the number of their field in it.
	metadataDepth, ownerReferencesNumber = 2, 13
)

// checkProtobuf looks for costly quantities and numbers of items without the types: a field is taken as text and as
// a message, whichever it is. The decoder reads until the first error, and so does this.
func checkProtobuf(message []byte) error { return checkMessage(message, 0) }

func checkMessage(message []byte, depth int) error {
	if depth > maxDepth {
		return nil
	}
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
		items[number]++
		if err := checkNumber(items[number], depth, number); err != nil {
			return err
		}
		if kind != protowire.BytesType {
			continue
		}
		value, _ := protowire.ConsumeBytes(field)
		if err := checkQuantity(string(value)); err != nil {
			return err
		}
		if err := checkMessage(value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func checkNumber(items, depth int, number protowire.Number) error {
	switch {
	case depth == metadataDepth && number == ownerReferencesNumber && items > maxOwnerReferences:
		return tooMany("owner references", maxOwnerReferences)
	case items > maxItems:
		return tooMany("items of a list", maxItems)
	}
	return nil
}
