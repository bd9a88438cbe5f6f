package encoding

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIsEncoded(t *testing.T) {
	tests := map[string]bool{
		`{}`:                           true,
		`{"f:a":{}}`:                   true,
		`{"f:a":{},"f:b":{"f:c":{}}}`:  true,
		`{"f:a":{"f:b":{"f:c":{}}}}`:   true,
		`{"k:{\"a\":\"b\\\\\"}":{}}`:   true,
		``:                             false,
		`{`:                            false,
		`{"`:                           false,
		`{"f:a`:                        false,
		`{"f:a\`:                       false,
		`{"f:a"`:                       false,
		`{"f:a":`:                      false,
		`{"f:a":{`:                     false,
		`{"f:a":{}`:                    false,
		`{"f:a":{},`:                   false,
		`{"f:a":{},}`:                  false,
		`{,"f:a":{}}`:                  false,
		`{}}`:                          false,
		`{}{}`:                         false,
		`{},"f:a":{}`:                  false,
		`{"f:a":{}"f:b":{}}`:           false,
		`{"f:a",{}}`:                   false,
		`{"f:a":{}} `:                  false,
		` {}`:                          false,
		`{"f:a": {}}`:                  false,
		`[]`:                           false,
		`{"f:a":[]}`:                   false,
		`{"f:a":null}`:                 false,
		`{"f:<":{}}`:                   false,
		`{"f:\u003c":{}}`:              false,
		`{"f:\n":{}}`:                  false,
		"{\"f:\n\":{}}":                false,
		"{\"f:\x7f\":{}}":              false,
		"{\"f:ü\":{}}":                 false,
		"{\"f:\u2028\":{}}":            false,
		"\xbf{}":                       false,
		`{"f:a":{}}` + "\x00":          false,
		`{"f:a":{"f:b":{}},"f:c":{}}}`: false,
	}
	for raw, want := range tests {
		if got := isEncoded([]byte(raw)); got != want {
			t.Errorf("isEncoded(%q) = %t, want %t", raw, got, want)
		}
	}
}

// FuzzIsEncoded: if isEncoded accepts a field set, encoding/json must write it unchanged.
func FuzzIsEncoded(f *testing.F) {
	for _, raw := range fieldSets {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !isEncoded(raw) {
			return
		}
		encoded, err := json.Marshal(metav1.NewFieldsV1(string(raw)))
		if err != nil || string(encoded) != string(raw) {
			t.Errorf("%q is encoded as %q, error %v", raw, encoded, err)
		}
	})
}
