package requests

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const pod = "3d9b1d5e-6d43-4b51-b3a5-4a1c3f0f4f43"

var now = time.Date(2026, 11, 23, 12, 0, 0, 500, time.UTC)

func newKey(t *testing.T) PrivateKey {
	t.Helper()
	key, err := NewPrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, key PrivateKey, uid string, parameters url.Values, at time.Time) string {
	t.Helper()
	header, err := Sign(key, uid, parameters, at)
	if err != nil {
		t.Fatal(err)
	}
	return header
}

// published are public keys as an agent reads them.
func published(t *testing.T, keys ...PrivateKey) PublicKeys {
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
	for name, test := range map[string]struct {
		header     string
		keys       PublicKeys
		pod        string
		parameters url.Values
		at         time.Time
		// want is part of the error, or empty.
		want string
	}{
		"signed":                     {header: sign(t, key, pod, asked, now)},
		"by the next key":            {header: sign(t, next, pod, asked, now)},
		"a clock that is behind":     {header: sign(t, key, pod, asked, now.Add(29*time.Second))},
		"repeated within its minute": {header: sign(t, key, pod, asked, now), at: now.Add(89 * time.Second)},

		"not signed":             {want: "not signed"},
		"another scheme":         {header: "Basic YTpi", want: "not signed"},
		"no token":               {header: "Bearer ", want: "reading"},
		"no token at all":        {header: "Bearer a.b.c", want: "reading"},
		"expired":                {header: sign(t, key, pod, asked, now), at: now.Add(92 * time.Second), want: "expired"},
		"of the future":          {header: sign(t, key, pod, asked, now.Add(32*time.Second)), want: "future"},
		"for another pod":        {header: sign(t, key, "another", asked, now), want: "aud"},
		"an agent without a UID": {header: sign(t, key, "", asked, now), pod: "-", want: "does not know"},
		"by an unknown key":      {header: sign(t, unknown, pod, asked, now), want: "signature"},
		"no keys":                {header: sign(t, key, pod, asked, now), keys: published(t), want: "signature"},
		"a key that was removed": {header: sign(t, key, pod, asked, now), keys: published(t, next), want: "signature"},
		"of another request":     {header: sign(t, key, pod, other, now), want: "another request"},
		"with another parameter": {header: sign(t, key, pod, asked, now), parameters: more, want: "another request"},
		"without a parameter":    {header: sign(t, key, pod, more, now), want: "another request"},
		"with a parameter twice": {header: sign(t, key, pod, asked, now), parameters: twice, want: "another request"},
		"for longer than a minute": {
			header: forged(
				t, jose.EdDSA, key.key, claims{Claims: jwt.Claims{Issuer: issuer, Audience: jwt.Audience{pod},
					IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(time.Hour))}, Request: asked.Encode()},
			), want: "longer",
		},
		"for ever": {
			header: forged(
				t, jose.EdDSA, key.key, claims{Claims: jwt.Claims{Issuer: issuer, Audience: jwt.Audience{pod},
					IssuedAt: jwt.NewNumericDate(now)}, Request: asked.Encode()},
			), want: "longer",
		},
		"by another issuer": {
			header: forged(
				t, jose.EdDSA, key.key, claims{Claims: jwt.Claims{Issuer: "me", Audience: jwt.Audience{pod},
					IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now)}, Request: asked.Encode()},
			), want: "iss",
		},
		"without an algorithm": {header: scheme + "eyJhbGciOiJub25lIn0." + strings.Split(sign(t, key, pod, asked, now),
			".")[1] + ".", want: "reading"},
		"with the public key as a secret": {header: forged(t, jose.HS256,
			[]byte(published(t, key).set.Keys[0].Key.(ed25519.PublicKey)),
			claims{Request: asked.Encode()}), want: "reading"},
	} {
		t.Run(name, func(t *testing.T) {
			keys, uid, parameters, at := test.keys, pod, asked, now
			if len(keys.set.Keys) == 0 && name != "no keys" {
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

// forged is a token that Sign does not make.
func forged(t *testing.T, algorithm jose.SignatureAlgorithm, key any, content claims) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(content).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return scheme + token
}

// TestTamperedToken: a token with any other byte is rejected.
func TestTamperedToken(t *testing.T) {
	key := newKey(t)
	parameters := url.Values{ParameterHold: {"true"}}
	header, keys := sign(t, key, pod, parameters, now), published(t, key)
	for i := range header {
		// The last character of a part also holds bits that are not read.
		if end := i+1 == len(header) || header[i+1] == '.'; end || header[i] == '.' {
			continue
		}
		tampered := []byte(header)
		tampered[i] = 'A'
		if header[i] == 'A' {
			tampered[i] = 'B'
		}
		if Verify(keys, pod, string(tampered), parameters, now) == nil {
			t.Errorf("%q is accepted", tampered)
		}
	}
}

func TestKeysAreStored(t *testing.T) {
	key := newKey(t)
	stored, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	var loaded PrivateKey
	if err := json.Unmarshal(stored, &loaded); err != nil || loaded.ID() != key.ID() || loaded.IsZero() {
		t.Fatalf("loaded %v, %v", loaded.ID(), err)
	}
	parameters := url.Values{ParameterPin: {""}, ParameterGeneration: {"3"}}
	if err := Verify(published(t, key), pod, sign(t, loaded, pod, parameters, now), parameters, now); err != nil {
		t.Error(err)
	}
	public := PublicKeysOf(key).String()
	if strings.Contains(public, `"d"`) {
		t.Errorf("the public keys contain a secret: %s", public)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := json.Marshal(jose.JSONWebKey{Key: ec, KeyID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"", "{}", string(foreign), strings.Trim(public, "{}")} {
		if err := json.Unmarshal([]byte(data), &loaded); err == nil {
			t.Errorf("%q is taken for a key", data)
		}
	}
}

func TestParsePublicKeys(t *testing.T) {
	var many []PrivateKey
	for range maxKeys + 1 {
		many = append(many, newKey(t))
	}
	private, err := json.Marshal(many[0])
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
		"no JSON":       {"ssh-ed25519 AAAA", false},
		"a private key": {`{"keys":[` + string(private) + `]}`, false},
		"a secret":      {`{"keys":[{"kty":"oct","k":"YQ","kid":"a"}]}`, false},
		"without name":  {strings.ReplaceAll(PublicKeysOf(many[0]).String(), `"kid"`, `"x-kid"`), false},
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
