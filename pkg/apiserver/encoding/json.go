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

// Encode writes the object at once, as the serializer underneath does: the response is
// compressed if the first write is large.
func (s jsonSerializer) Encode(object runtime.Object, w io.Writer) error {
	switch o := object.(type) {
	case *v1beta1.Website:
		copied := *o
		return encode(&copied, &copied.ManagedFields, w)
	case *v1alpha1.Website:
		copied := *o
		return encode(&copied, &copied.ManagedFields, w)
	case *metav1.WatchEvent:
		if isOutput(o.Object.Raw) {
			return encodeEvent(o, w)
		}
	}
	return s.Serializer.Encode(object, w)
}

func encode(website any, managed *[]metav1.ManagedFieldsEntry, w io.Writer) error {
	e := newEncoder()
	defer e.release()
	encoded, err := e.encode(website, managed)
	if err != nil {
		return err
	}
	e.out = append(encoded.appendTo(e.out[:0]), '\n')
	_, err = w.Write(e.out)
	return err
}

// encoder encodes a Website at a time. What it returns is valid until the next one.
type encoder struct {
	buffer  bytes.Buffer
	values  *json.Encoder
	entries []metav1.ManagedFieldsEntry
	result  encodedWebsite
	// out is for the encoded Website as a whole.
	out []byte
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.values = json.NewEncoder(&e.buffer)
	return e
}}

// maxKept is the size of the largest buffer that is kept for other responses.
const maxKept = 64 << 10

func newEncoder() *encoder { return encoders.Get().(*encoder) }

func (e *encoder) release() {
	if e.buffer.Cap() > maxKept || cap(e.out) > maxKept {
		return
	}
	clear(e.entries)
	clear(e.result.sets)
	encoders.Put(e)
}

// placeholder is an empty set of fields in an encoded object. Inside of a string, its quotes
// would be escaped, and only managed fields have a member of this name.
const (
	member      = `"fieldsV1":`
	placeholder = member + `null`
)

var (
	// noFields is encoded as null.
	noFields metav1.FieldsV1
	// errMissing is returned if the types are encoded in another way than expected.
	errMissing = errors.New("the managed fields of a Website are not in its encoding")
)

// encode encodes a Website of a served version. managed are its managed fields, which are
// replaced meanwhile: the Website must not be shared.
func (e *encoder) encode(w any, managed *[]metav1.ManagedFieldsEntry) (*encodedWebsite, error) {
	entries := *managed
	e.buffer.Reset()
	e.result.sets, e.result.offsets = e.result.sets[:0], e.result.offsets[:0]
	if slices.ContainsFunc(entries, isUnusual) {
		err := e.values.Encode(w)
		e.result.rest = bytes.TrimSuffix(e.buffer.Bytes(), []byte("\n"))
		return &e.result, err
	}
	e.entries = append(e.entries[:0], entries...)
	for i := range e.entries {
		if e.entries[i].FieldsV1 != nil {
			e.entries[i].FieldsV1 = &noFields
		}
	}
	*managed = e.entries
	err := e.values.Encode(w)
	*managed = entries
	if err != nil {
		return nil, err
	}

	encoded := e.buffer.Bytes()
	// All but the placeholders moves to the front.
	end, read := 0, 0
	for i := range entries {
		if entries[i].FieldsV1 == nil {
			continue
		}
		at := bytes.Index(encoded[read:], []byte(placeholder))
		if at < 0 {
			return nil, errMissing
		}
		end += copy(encoded[end:], encoded[read:read+at+len(member)])
		read += at + len(placeholder)
		e.result.sets = append(e.result.sets, entries[i].FieldsV1.GetRawBytes())
		e.result.offsets = append(e.result.offsets, end)
	}
	end += copy(encoded[end:], encoded[read:len(encoded)-1])
	e.result.rest = encoded[:end]
	return &e.result, nil
}

// isUnusual reports whether an entry has fields that must be encoded by encoding/json.
func isUnusual(entry metav1.ManagedFieldsEntry) bool {
	return entry.FieldsV1 != nil && !isEncoded(entry.FieldsV1.GetRawBytes())
}
