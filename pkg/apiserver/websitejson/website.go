package websitejson

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writer encodes values into a buffer.
type writer struct {
	// out has what is encoded.
	out bytes.Buffer
	// scratch has an object without its sets of fields.
	scratch bytes.Buffer
	values  *json.Encoder
	entries []metav1.ManagedFieldsEntry
}

var writers = sync.Pool{New: func() any {
	w := &writer{}
	w.values = json.NewEncoder(&w.scratch)
	return w
}}

// maxKept is the largest buffer that is kept for others.
const maxKept = 64 << 10

func newWriter() *writer { return writers.Get().(*writer) }

func (w *writer) release() {
	if w.out.Cap() > maxKept || w.scratch.Cap() > maxKept {
		return
	}
	clear(w.entries)
	w.out.Reset()
	writers.Put(w)
}

// placeholder is an empty set of fields in an encoded object. Inside of a string, its quotes
// would be escaped, and only managed fields have a member of this name.
var (
	placeholder = []byte(`"fieldsV1":null`)
	key         = len(`"fieldsV1":`)
)

// object appends an object, and a line feed. managed are the managed fields of the object, which
// it replaces meanwhile: the object must not be shared.
func (w *writer) object(object any, managed *[]metav1.ManagedFieldsEntry) error {
	entries := *managed
	if !slices.ContainsFunc(entries, hasFields) || slices.ContainsFunc(entries, isUnusual) {
		return w.value(object)
	}
	w.entries = append(w.entries[:0], entries...)
	for i := range w.entries {
		if hasFields(w.entries[i]) {
			w.entries[i].FieldsV1 = &noFields
		}
	}
	*managed = w.entries
	defer func() { *managed = entries }()

	w.scratch.Reset()
	if err := w.values.Encode(object); err != nil {
		return err
	}
	rest := w.scratch.Bytes()
	for i := range entries {
		if !hasFields(entries[i]) {
			continue
		}
		at := bytes.Index(rest, placeholder)
		if at < 0 {
			return errMissing
		}
		w.out.Write(rest[:at+key])
		w.out.Write(entries[i].FieldsV1.GetRawBytes())
		rest = rest[at+len(placeholder):]
	}
	w.out.Write(rest)
	return nil
}

// value appends a value as encoding/json does, and a line feed.
func (w *writer) value(value any) error {
	w.scratch.Reset()
	if err := w.values.Encode(value); err != nil {
		return err
	}
	w.out.Write(w.scratch.Bytes())
	return nil
}

// noFields is encoded as null.
var noFields metav1.FieldsV1

var errMissing = errors.New("the managed fields of a Website are not in its encoding")

func hasFields(entry metav1.ManagedFieldsEntry) bool { return entry.FieldsV1 != nil }

// isUnusual reports whether an entry has fields that must be encoded by encoding/json.
func isUnusual(entry metav1.ManagedFieldsEntry) bool {
	return hasFields(entry) && !isEncoded(entry.FieldsV1.GetRawBytes())
}
