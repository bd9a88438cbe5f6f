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

// maxQuantityBytes limits the encoded length of a quantity. The decoder calls itself for each nested group, which takes
// 90 bytes of memory per encoded byte.
const maxQuantityBytes = 128

// protobufMagic is the prefix of all objects that Kubernetes encodes as protobuf. An encoded runtime.Unknown follows
// it.
var protobufMagic = []byte("k8s\x00")

// message walks an encoded Website along its Go type.
type message struct {
	// document counts the fields of the message, and the items of managed fields, which are JSON.
	document
	// listItems counts the items of each metadata list across all metadata fields of the message, because the decoder
	// merges repeated ones.
	listItems map[string]int
}

// checkProtobuf checks a Website against the type of v1beta1, which has all fields of v1alpha1. Bodies of other kinds
// are limited to minBytes.
func checkProtobuf(body []byte) error {
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(body); err != nil {
		return nil // The decoder rejects it.
	}
	if kind := unknown.Kind; kind != "" && kind != "Website" && len(body) > minBytes {
		return apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("bodies of the kind %.80q are limited to %d bytes", kind, minBytes))
	}
	m := &message{listItems: map[string]int{}}
	return m.check(unknown.Raw, reflect.TypeFor[v1beta1.Website]())
}

// check walks the encoded value of a Go type.
func (m *message) check(value []byte, of reflect.Type) error {
	switch {
	case of == nil: // An unknown field, such as one of a later version.
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
	case of.Kind() == reflect.Map: // Each entry is a message with a key (1) and a value (2).
		return eachField(value, func(number protowire.Number, part []byte) error {
			if number != 2 {
				return nil
			}
			return m.check(part, of.Elem())
		})
	case of.Kind() == reflect.Struct:
		return eachField(value, func(number protowire.Number, part []byte) error {
			name, field := fieldOf(of, number)
			if of == reflect.TypeFor[metav1.ObjectMeta]() && field != nil && field.Kind() == reflect.Slice {
				if m.listItems[name]++; m.listItems[name] > maxListItems {
					return tooMany("items of "+name, maxListItems)
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

// fieldOf returns the JSON name and the type of the length-delimited field with a number. It returns "" and
// nil for other numbers.
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

// eachField calls do for each length-delimited field of a message: strings, bytes and nested messages.
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
