package access

import (
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // It is what nginx verifies in every image.
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxHtpasswd is the size limit of the key htpasswd: nginx reads the file for every
	// request.
	maxHtpasswd = 64 << 10
	// maxUsername and maxPassword fit into the header of a request.
	maxUsername, maxPassword = 255, 1024
	// saltLength is the length of the salt of a password.
	saltLength = 16
)

// errMissing means that there is no Secret, or one without any of the keys.
var errMissing = errors.New("the Secret is missing, or has none of the keys " + UsernameKey + ", " + PasswordKey +
	" and " + HtpasswdKey)

// errUnsupportedHash means that nginx cannot verify a hash.
var errUnsupportedHash = errors.New("the user name must be followed by ':' and a hash of the format $apr1$, " +
	saltedSHA + " or " + unsaltedSHA)

// users returns the lines of the file for nginx. An error has nothing of the Secret but
// numbers of lines.
func (s secret) users() ([]byte, error) {
	if len(s) == 0 {
		return nil, errMissing
	}
	if file, found := s[HtpasswdKey]; found {
		return checkLines(file)
	}
	username, password := withoutNewline(s[UsernameKey]), withoutNewline(s[PasswordKey])
	if err := checkUsername(username); err != nil {
		return nil, fmt.Errorf("the key %s: %w", UsernameKey, err)
	}
	switch {
	case password == "":
		return nil, fmt.Errorf("the key %s is empty or missing", PasswordKey)
	case len(password) > maxPassword:
		return nil, fmt.Errorf("the key %s has more than %d bytes", PasswordKey, maxPassword)
	case !isText(password):
		return nil, fmt.Errorf("the key %s has control characters, or is not UTF-8", PasswordKey)
	}
	return fmt.Appendf(nil, "%s:%s\n", username, hash(password)), nil
}

// withoutNewline returns a value without the line feed that editors put at the end of a file.
func withoutNewline(value []byte) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
}

func checkUsername(name string) error {
	switch {
	case name == "":
		return errors.New("the user name is empty or missing")
	case len(name) > maxUsername:
		return fmt.Errorf("the user name has more than %d bytes", maxUsername)
	case strings.Contains(name, ":") || strings.HasPrefix(name, "#"):
		return errors.New("the user name contains ':' or begins with '#'")
	case !isText(name):
		return errors.New("the user name has control characters, or is not UTF-8")
	}
	return nil
}

func isText(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl)
}

// hash returns a salted hash that nginx verifies itself, so that it does not depend on the
// libc of the image. nginx verifies it for each request; a slow one would stop its worker.
func hash(password string) string {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // It never fails.

	sum := sha1.Sum(append([]byte(password), salt...)) //nolint:gosec
	return saltedSHA + base64.StdEncoding.EncodeToString(append(sum[:], salt...))
}

// Prefixes of hashes that nginx verifies itself.
const (
	saltedSHA   = "{SSHA}"
	unsaltedSHA = "{SHA}"
)

// apr1 is the hash that htpasswd makes by default.
var apr1 = regexp.MustCompile(`^\$apr1\$[./0-9A-Za-z]{1,8}\$[./0-9A-Za-z]{22}$`)

// isHash reports whether nginx verifies a hash itself. Others are left to crypt(3): which of
// them there are depends on the libc of the image, and bcrypt stops the worker for as long as
// it takes. {PLAIN} is no hash.
func isHash(value string) bool {
	if encoded, ok := strings.CutPrefix(value, saltedSHA); ok {
		decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
		return err == nil && len(decoded) > sha1.Size
	}
	if encoded, ok := strings.CutPrefix(value, unsaltedSHA); ok {
		decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
		return err == nil && len(decoded) == sha1.Size
	}
	return apr1.MatchString(value)
}

// checkLines returns the users of an htpasswd file, without its comments.
func checkLines(file []byte) ([]byte, error) {
	if len(file) > maxHtpasswd {
		return nil, fmt.Errorf("the key %s has more than %d bytes", HtpasswdKey, maxHtpasswd)
	}
	var users []byte
	first := map[string]int{}
	for i, line := range strings.Split(string(file), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, ":")
		hashed, _, _ := strings.Cut(rest, ":")
		if err := checkUsername(name); err != nil {
			return nil, fmt.Errorf("the key %s, line %d: %w", HtpasswdKey, i+1, err)
		}
		if !isHash(hashed) {
			return nil, fmt.Errorf("the key %s, line %d: %w", HtpasswdKey, i+1, errUnsupportedHash)
		}
		if before, found := first[name]; found {
			// nginx would use the first only.
			return nil, fmt.Errorf("the key %s, line %d: the user name is that of line %d", HtpasswdKey, i+1, before)
		}
		first[name] = i + 1
		users = fmt.Appendf(users, "%s:%s\n", name, hashed)
	}
	if len(users) == 0 {
		return nil, fmt.Errorf("the key %s has no users", HtpasswdKey)
	}
	return users, nil
}
