package requests

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

const (
	// maxKeys is how many public keys an agent accepts: a current one, the next one, and the
	// keys of another controller meanwhile.
	maxKeys = 8
	// maxKeysFile is more than these take.
	maxKeysFile = 64 << 10
)

// PublicKeys are those whose signatures an agent accepts.
type PublicKeys []ed25519.PublicKey

// PublicKeysOf returns the public keys of private ones.
func PublicKeysOf(private ...ed25519.PrivateKey) (public PublicKeys) {
	for _, key := range private {
		public = append(public, key.Public().(ed25519.PublicKey))
	}
	return public
}

// String encodes the keys for KeysFile, as a list.
func (k PublicKeys) String() string {
	if len(k) == 0 {
		return ""
	}
	// Slices of bytes are always encoded.
	encoded, _ := json.Marshal([]ed25519.PublicKey(k))
	return string(encoded)
}

// ParsePublicKeys decodes what String has encoded.
func ParsePublicKeys(data []byte) (keys PublicKeys, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	if len(data) > maxKeysFile {
		return nil, fmt.Errorf("the public keys have %d bytes, at most %d are read", len(data), maxKeysFile)
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("decoding the public keys: %w", err)
	}
	if len(keys) > maxKeys {
		return nil, fmt.Errorf("there are %d public keys, at most %d are accepted", len(keys), maxKeys)
	}
	if slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return len(key) != ed25519.PublicKeySize }) {
		return nil, errors.New("a public key is not one of Ed25519")
	}
	return keys, nil
}
