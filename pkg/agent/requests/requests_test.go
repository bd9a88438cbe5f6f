package requests

import (
	"crypto/ed25519"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
)

const pod = "3d9b1d5e-6d43-4b51-b3a5-4a1c3f0f4f43"

var now = time.Date(2026, 11, 23, 12, 0, 0, 500, time.UTC)

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// published are public keys as an agent reads them.
func published(t *testing.T, keys ...ed25519.PrivateKey) PublicKeys {
	t.Helper()
	parsed, err := ParsePublicKeys([]byte(PublicKeysOf(keys...).String()))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestVerify(t *testing.T) {
	key, next, unknown := newKey(t), newKey(t), newKey(t)
	asked := url.Values{ParameterSync: {"2026-11-23T12:00:00.000000Z"}, ParameterWait: {"30s"}}
	other := url.Values{ParameterSync: {"2026-11-23T12:00:05.000000Z"}, ParameterWait: {"30s"}}
	more := url.Values{ParameterSync: asked[ParameterSync], ParameterWait: asked[ParameterWait], ParameterPin: {""}}
	twice := url.Values{ParameterSync: {asked.Get(ParameterSync), "another"}, ParameterWait: {"30s"}}
	at, signature, _ := strings.Cut(Sign(key, pod, asked, now), ".")
	later, _, _ := strings.Cut(Sign(key, pod, asked, now.Add(time.Second)), ".")
	for name, test := range map[string]struct {
		header     string
		keys       PublicKeys
		pod        string
		parameters url.Values
		at         time.Time
		// want is part of the error, or empty.
		want string
	}{
		"signed":                     {header: Sign(key, pod, asked, now)},
		"by the next key":            {header: Sign(next, pod, asked, now)},
		"a clock that is behind":     {header: Sign(key, pod, asked, now.Add(29*time.Second))},
		"repeated within its minute": {header: Sign(key, pod, asked, now), at: now.Add(89 * time.Second)},

		"not signed":             {want: "not signed"},
		"another scheme":         {header: "Basic YTpi", want: "reading"},
		"no signature":           {header: at, want: "unknown key"},
		"no signature at all":    {header: "a.b", want: "reading"},
		"another encoding":       {header: Sign(key, pod, asked, now) + "==", want: "reading"},
		"expired":                {header: Sign(key, pod, asked, now), at: now.Add(92 * time.Second), want: "expired"},
		"of the future":          {header: Sign(key, pod, asked, now.Add(32*time.Second)), want: "future"},
		"of the end of time":     {header: "9223372036854775807." + signature, want: "future"},
		"of no time":             {header: "9223372036854775808." + signature, want: "reading"},
		"with a later time":      {header: later + "." + signature, want: "unknown key"},
		"for another pod":        {header: Sign(key, "another", asked, now), want: "another request or pod"},
		"an agent without a UID": {header: Sign(key, "", asked, now), pod: "-", want: "does not know"},
		"by an unknown key":      {header: Sign(unknown, pod, asked, now), want: "unknown key"},
		"no keys":                {header: Sign(key, pod, asked, now), keys: published(t), want: "unknown key"},
		"a key that was removed": {header: Sign(key, pod, asked, now), keys: published(t, next), want: "unknown key"},
		"of another request":     {header: Sign(key, pod, other, now), want: "another request"},
		"with another parameter": {header: Sign(key, pod, asked, now), parameters: more, want: "another request"},
		"without a parameter":    {header: Sign(key, pod, more, now), want: "another request"},
		"with a parameter twice": {header: Sign(key, pod, asked, now), parameters: twice, want: "another request"},
		"of the request alone": {header: at + "." + encoding.EncodeToString(ed25519.Sign(key, []byte(asked.Encode()))),
			want: "another request"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, uid, parameters, at := test.keys, pod, asked, now
			if len(keys) == 0 && name != "no keys" {
				keys = published(t, key, next)
			}
			if test.pod == "-" {
				uid = ""
			}
			if test.parameters != nil {
				parameters = test.parameters
			}
			if !test.at.IsZero() {
				at = test.at
			}
			err := Verify(keys, uid, test.header, parameters, at)
			if test.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

// TestTampered: no byte of a signature can be another.
func TestTampered(t *testing.T) {
	key := newKey(t)
	parameters := url.Values{ParameterHold: {"true"}}
	header, keys := Sign(key, pod, parameters, now), published(t, key)
	for i := range header {
		for _, b := range []byte("AB.0") {
			tampered := []byte(header)
			tampered[i] = b
			if header[i] != b && Verify(keys, pod, string(tampered), parameters, now) == nil {
				t.Errorf("%q is accepted", tampered)
			}
		}
	}
}

func TestParsePublicKeys(t *testing.T) {
	var many []ed25519.PrivateKey
	for range maxKeys + 1 {
		many = append(many, newKey(t))
	}
	private, err := json.Marshal(many[:1])
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data string
		ok   bool
	}{
		"empty":         {"", true},
		"one":           {PublicKeysOf(many[0]).String(), true},
		"all":           {PublicKeysOf(many[:maxKeys]...).String(), true},
		"too many":      {PublicKeysOf(many...).String(), false},
		"too large":     {strings.Repeat(" ", maxKeysFile) + PublicKeysOf(many[0]).String(), false},
		"no JSON":       {"ssh-ed25519 AAAA", false},
		"a private key": {string(private), false},
		"a short key":   {`["YQ=="]`, false},
		"no key":        {`[null]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParsePublicKeys([]byte(test.data)); (err == nil) != test.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestNeedsSignature(t *testing.T) {
	for query, want := range map[string]bool{
		"":                           false,
		"wait=30s&after=1.2":         false,
		"wait=30s&unknown=1":         false,
		"wait=30s&after=1.2&hold":    true,
		"expect=":                    true,
		"release=a":                  true,
		"sync=a":                     true,
		"pin=&wait=1s":               true,
		"generation=1":               true,
		"after=1&after=2&hold=false": true,
	} {
		parameters, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := NeedsSignature(parameters); got != want {
			t.Errorf("%q: %t", query, got)
		}
		if NeedsSignature(Unsigned(parameters)) {
			t.Errorf("%q: %v is not without a signature", query, Unsigned(parameters))
		}
	}
}
