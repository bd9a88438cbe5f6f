package bodies

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// maxQuantityBytes is the length of a quantity. Its decoder takes 90 bytes for each of its bytes, as it calls itself
// for each group of fields within another.
const maxQuantityBytes = 128

// protobufMagic begins what Kubernetes encodes as protobuf. A runtime.Unknown follows.
var protobufMagic = []byte("k8s\x00")

// message follows a Website as protobuf by its type.
type message struct {
	// document counts the items of the message, and of managed fields, which are JSON.
	document
	// compared are the numbers of items of the lists of the metadata whose items are compared. The decoder merges
	// metadata that is repeated.
	compared map[string]int
}

// checkProtobuf checks a Website as one of v1beta1, which has all fields of v1alpha1. Other kinds of bodies are small.
func checkProtobuf(body []byte) error {
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(body); err != nil {
		return nil // The decoder rejects it.
	}
	if kind := unknown.Kind; kind != "" && kind != "Website" && len(body) > minBytes {
		return apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("bodies of the kind %.80q are limited to %d bytes", kind, minBytes))
	}
	m := &message{compared: map[string]int{}}
	return m.check(unknown.Raw, reflect.TypeFor[v1beta1.Website]())
}

// check follows a value of a type.
func (m *message) check(value []byte, of reflect.Type) error {
	switch {
	case of == nil: // A field of a later version.
		return nil
	case of == reflect.TypeFor[resource.Quantity]():
		if len(value) > maxQuantityBytes {
			return tooMany("the bytes of a quantity", maxQuantityBytes)
		}
		return checkQuantity(value)
	case of == reflect.TypeFor[metav1.FieldsV1]():
		return eachField(value, func(_ protowire.Number, fields []byte) error {
			m.open = nil
			return m.document.check(fields)
		})
	case of.Kind() == reflect.Pointer, of.Kind() == reflect.Slice:
		return m.check(value, of.Elem())
	case of.Kind() == reflect.Map: // A message with the key and the value of an entry.
		return eachField(value, func(number protowire.Number, part []byte) error {
			if number != 2 {
				return nil
			}
			return m.check(part, of.Elem())
		})
	case of.Kind() == reflect.Struct:
		return eachField(value, func(number protowire.Number, part []byte) error {
			name, field := fieldOf(of, number)
			if of == reflect.TypeFor[metav1.ObjectMeta]() && isCompared(name) {
				if m.compared[name]++; m.compared[name] > maxCompared {
					return tooMany("items of "+name, maxCompared)
				}
			}
			if err := m.count(); err != nil {
				return err
			}
			return m.check(part, field)
		})
	}
	return checkText(value)
}

// fieldOf returns the name and the type of the field with a number.
func fieldOf(of reflect.Type, number protowire.Number) (name string, field reflect.Type) {
	for i := range of.NumField() {
		f := of.Field(i)
		if strings.HasPrefix(f.Tag.Get("protobuf"), fmt.Sprintf("bytes,%d,", number)) {
			name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
			return name, f.Type
		}
	}
	return "", nil
}

// eachField calls do with each text and each message in a message.
func eachField(message []byte, do func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, kind, start := protowire.ConsumeTag(message)
		length := protowire.ConsumeFieldValue(number, kind, message[max(start, 0):])
		if start < 0 || length < 0 {
			return apierrors.NewBadRequest("the body of the request is not protobuf as Kubernetes encodes it")
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[start:])
			if err := do(number, value); err != nil {
				return err
			}
		}
		message = message[start+length:]
	}
	return nil
}
