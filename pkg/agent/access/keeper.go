package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Problem is the reason for rejecting every request for the site.
type Problem string

const (
	// ProblemNone means that the users of the Secret may.
	ProblemNone Problem = ""
	// ProblemMissing means that there is no Secret, or that it has none of the keys.
	ProblemMissing Problem = "SecretMissing"
	// ProblemInvalid means that the Secret cannot be used.
	ProblemInvalid Problem = "SecretInvalid"
	// ProblemUnsupportedHash means that the key htpasswd has a user without a hash that nginx verifies.
	ProblemUnsupportedHash Problem = "SecretHashUnsupported"
)

// fileMode lets nginx read the file, which runs with the group of the volume.
const fileMode = 0o640

// Keeper keeps the file of users for nginx, which reads it for each request. The file has
// no users while the Secret is missing or invalid: nginx then rejects every request.
type Keeper struct {
	// SecretDir is the directory that the Secret is mounted at.
	SecretDir string
	// File is the file of users. Nothing of its directory is served.
	File string

	// made is true if the file was made from the Secret with this digest.
	made    bool
	digest  [sha256.Size]byte
	problem Problem
}

// Check makes the file again if the Secret has changed, or if that has failed before. The
// error names the problem, and has nothing of the Secret.
func (k *Keeper) Check() (Problem, error) {
	read, err := readSecret(k.SecretDir)
	if errors.Is(err, errSwapped) {
		return k.problem, nil // The next check reads the new one.
	}
	isRead, digest := err == nil, read.digest()
	if isRead && k.made && digest == k.digest {
		return k.problem, nil
	}
	var users []byte
	if isRead {
		users, err = read.users()
	}
	writeErr := k.write(users)
	err = errors.Join(err, writeErr)
	k.made, k.digest = isRead && writeErr == nil, digest
	switch {
	case err == nil:
		k.problem = ProblemNone
	case writeErr == nil && errors.Is(err, errMissing):
		k.problem = ProblemMissing
	case writeErr == nil && errors.Is(err, errUnsupportedHash):
		k.problem = ProblemUnsupportedHash
	default:
		k.problem = ProblemInvalid
	}
	return k.problem, err
}

// write replaces the file in one step. If that fails, the file is emptied: users that the
// Secret does not have any more are not admitted.
func (k *Keeper) write(users []byte) error {
	temporary := filepath.Join(filepath.Dir(k.File), "."+filepath.Base(k.File))
	err := os.WriteFile(temporary, users, fileMode)
	if err == nil {
		err = os.Rename(temporary, k.File)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("writing the file of users: %w", err)
	if closeErr := os.Truncate(k.File, 0); closeErr != nil && !errors.Is(closeErr, os.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("emptying the file of users: %w", closeErr))
	}
	return err
}
