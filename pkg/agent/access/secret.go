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

// secret has the keys of the Secret. A missing key is nil.
type secret struct {
	username, password, htpasswd []byte
}

// readSecret reads a Secret from the directory that it is mounted at. All keys are of the
// same version of it.
func readSecret(dir string) (secret, error) {
	version := func() string {
		// A directory without the link is empty: the Secret does not exist.
		target, _ := os.Readlink(filepath.Join(dir, dataLink))
		return target
	}
	before := version()
	var read secret
	for key, content := range map[string]*[]byte{UsernameKey: &read.username, PasswordKey: &read.password,
		HtpasswdKey: &read.htpasswd} {
		data, err := os.ReadFile(filepath.Join(dir, before, key))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return secret{}, fmt.Errorf("reading the key %s: %w", key, err)
		default:
			*content = data
		}
	}
	if version() != before {
		return secret{}, errSwapped
	}
	return read, nil
}

// isMissing reports whether there is no Secret, or one without any of the keys.
func (s secret) isMissing() bool {
	return s.username == nil && s.password == nil && s.htpasswd == nil
}

// digest tells whether the Secret has changed, without keeping it.
func (s secret) digest() [sha256.Size]byte {
	content := fmt.Appendf(nil, "%q %t %q %t %q %t", s.username, s.username != nil, s.password, s.password != nil,
		s.htpasswd, s.htpasswd != nil)
	return sha256.Sum256(content)
}
