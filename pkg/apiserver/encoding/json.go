package encoding

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// jsonSerializer encodes Websites of a served version, and watch events.
type jsonSerializer struct{ runtime.Serializer }

// Encode writes the object at once, as the serializer underneath does: the response is compressed if the first
// write is large.
func (s jsonSerializer) Encode(object runtime.Object, w io.Writer) error {
	switch o := object.(type) {
	case *v1beta1.Website:
		copied := *o
		return encodeJSON(&copied, w)
	case *v1alpha1.Website:
		copied := *o
		return encodeJSON(&copied, w)
	case *metav1.WatchEvent:
		// Only encoders end an object with a line feed.
		if raw := o.Object.Raw; bytes.HasPrefix(raw, []byte("{")) && bytes.HasSuffix(raw, []byte("}\n")) {
			return encodeEvent(o.Type, bytes.TrimSuffix(raw, []byte("\n")), w)
		}
	}
	return s.Serializer.Encode(object, w)
}

func encodeJSON(website versioned, w io.Writer) error {
	encoded, err := marshalJSON(website)
	if err != nil {
		return err
	}
	buffer := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buffer)
	buffer.Reset()
	for _, piece := range encoded {
		buffer.Write(piece)
	}
	buffer.WriteByte('\n')
	_, err = w.Write(buffer.Bytes())
	return err
}

// buffers are for one response each.
var buffers = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// encodeEvent writes an event with an object that is encoded already.
func encodeEvent(eventType string, object []byte, w io.Writer) error {
	encodedType, err := json.Marshal(eventType)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{[]byte(`{"type":`), encodedType, []byte(`,"object":`), object, []byte("}\n")} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Managed fields without sets are encoded with placeholders. Inside of a string, the quotes of a placeholder would be
// escaped, and only managed fields have a member of this name.
const (
	member      = `"fieldsV1":`
	placeholder = member + `null`
)

// noFields is a set of fields that is encoded as null.
var noFields metav1.FieldsV1

// errMissing is returned if the types are encoded in another way than expected.
var errMissing = errors.New("the managed fields of a Website are not in its encoding")

// marshalJSON encodes a Website of a served version, without a line feed. Its managed fields are replaced meanwhile:
// it must not be shared.
func marshalJSON(website versioned) (pieces, error) {
	entries := website.GetManagedFields()
	if slices.ContainsFunc(entries, isUnusual) {
		encoded, err := json.Marshal(website)
		return pieces{encoded}, err
	}
	website.SetManagedFields(withoutSets(entries))
	encoded, err := json.Marshal(website)
	website.SetManagedFields(entries)
	if err != nil {
		return nil, err
	}
	p := make(pieces, 0, 2*len(entries)+1)
	for _, entry := range entries {
		if entry.FieldsV1 == nil {
			continue
		}
		before, after, found := bytes.Cut(encoded, []byte(placeholder))
		if !found {
			return nil, errMissing
		}
		p = append(p, encoded[:len(before)+len(member)], entry.FieldsV1.GetRawBytes())
		encoded = after
	}
	return append(p, encoded), nil
}

// isUnusual reports whether encoding/json may change the set of fields of an entry, or return an error for it.
func isUnusual(entry metav1.ManagedFieldsEntry) bool {
	return entry.FieldsV1 != nil && !isEncoded(entry.FieldsV1.GetRawBytes())
}

// withoutSets returns a copy of managed fields in which each set of fields is encoded as null.
func withoutSets(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].FieldsV1 != nil {
			entries[i].FieldsV1 = &noFields
		}
	}
	return entries
}
