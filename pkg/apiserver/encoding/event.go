package encoding

import (
	"bytes"
	"encoding/json"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isOutput reports whether raw is what an encoder has written for an object. Only these end with
// a line feed: it is not part of the object.
func isOutput(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte("{")) && bytes.HasSuffix(raw, []byte("}\n"))
}

// encodeEvent writes an event with an object that is encoded already. encoding/json would parse
// all of it again.
func encodeEvent(event *metav1.WatchEvent, w io.Writer) error {
	eventType, err := json.Marshal(event.Type)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{[]byte(`{"type":`), eventType, []byte(`,"object":`),
		bytes.TrimSuffix(event.Object.Raw, []byte("\n")), []byte("}\n")} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
