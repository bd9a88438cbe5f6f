package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The keys of the Secret, which are the names of its files.
const (
	UsernameKey = "username"
	PasswordKey = "password"
	HtpasswdKey = "htpasswd"
)

// dataLink is the link that the kubelet flips when a Secret has changed.
const dataLink = "..data"

// errSwapped means that the Secret has changed while it was read.
var errSwapped = errors.New("the Secret has changed while it was read")

// secret has the keys of the Secret, without those that it lacks.
type secret map[string][]byte

// readSecret reads a Secret from the directory that it is mounted at. All keys are of the
// same version of it.
func readSecret(dir string) (secret, error) {
	version := func() string {
		// A directory without the link is empty: the Secret does not exist.
		target, _ := os.Readlink(filepath.Join(dir, dataLink))
		return target
	}
	before := version()
	read := secret{}
	for _, key := range []string{UsernameKey, PasswordKey, HtpasswdKey} {
		data, err := os.ReadFile(filepath.Join(dir, before, key))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the key %s: %w", key, err)
		}
		read[key] = data
	}
	if version() != before {
		return nil, errSwapped
	}
	return read, nil
}

// digest tells whether the Secret has changed, without keeping it.
func (s secret) digest() [sha256.Size]byte { return sha256.Sum256(fmt.Appendf(nil, "%q", s)) }
