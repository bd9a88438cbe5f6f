package requests

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// maxKeys is the number of public keys that an agent accepts: a current one, the next one, and the
// keys of another controller meanwhile.
const maxKeys = 8

// PrivateKey signs requests.
type PrivateKey struct{ key jose.JSONWebKey }

// NewPrivateKey generates a key.
func NewPrivateKey() (PrivateKey, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("generating a key: %w", err)
	}
	return newPrivateKey(private)
}

func newPrivateKey(private ed25519.PrivateKey) (PrivateKey, error) {
	key := jose.JSONWebKey{Key: private, Algorithm: string(jose.EdDSA), Use: "sig"}
	thumbprint, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return PrivateKey{}, fmt.Errorf("naming a key: %w", err)
	}
	key.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	return PrivateKey{key}, nil
}

// ID names a key: its thumbprint.
func (k PrivateKey) ID() string { return k.key.KeyID }

// IsZero reports whether there is no key.
func (k PrivateKey) IsZero() bool { return k.key.Key == nil }

// MarshalJSON encodes a key, with its secret.
func (k PrivateKey) MarshalJSON() ([]byte, error) { return k.key.MarshalJSON() }

// UnmarshalJSON decodes what MarshalJSON has encoded. The name of the key follows from it.
func (k *PrivateKey) UnmarshalJSON(data []byte) error {
	var decoded jose.JSONWebKey
	if err := json.Unmarshal(data, &decoded); err != nil {
		return fmt.Errorf("decoding a private key: %w", err)
	}
	private, ok := decoded.Key.(ed25519.PrivateKey)
	if !ok {
		return errors.New("decoding a private key: it is not one of Ed25519")
	}
	key, err := newPrivateKey(private)
	if err != nil {
		return err
	}
	*k = key
	return nil
}

// PublicKeys are those whose signatures an agent accepts.
type PublicKeys struct{ set jose.JSONWebKeySet }

// PublicKeysOf returns the public keys of private ones.
func PublicKeysOf(keys ...PrivateKey) PublicKeys {
	var set jose.JSONWebKeySet
	for _, key := range keys {
		set.Keys = append(set.Keys, key.key.Public())
	}
	return PublicKeys{set}
}

// String encodes the keys as a JSON Web Key Set.
func (k PublicKeys) String() string {
	if len(k.set.Keys) == 0 {
		return ""
	}
	encoded, err := json.Marshal(k.set)
	if err != nil {
		return "" // Only a key that newPrivateKey does not make is an error.
	}
	return string(encoded)
}

// ParsePublicKeys decodes what String has encoded.
func ParsePublicKeys(data []byte) (PublicKeys, error) {
	var set jose.JSONWebKeySet
	if len(data) == 0 {
		return PublicKeys{}, nil
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return PublicKeys{}, fmt.Errorf("decoding the public keys: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return PublicKeys{}, fmt.Errorf("there are %d public keys, at most %d are accepted", len(set.Keys), maxKeys)
	}
	for _, key := range set.Keys {
		if _, ok := key.Key.(ed25519.PublicKey); !ok || key.KeyID == "" {
			return PublicKeys{}, errors.New("a public key has no name, or is not one of Ed25519")
		}
	}
	return PublicKeys{set}, nil
}
