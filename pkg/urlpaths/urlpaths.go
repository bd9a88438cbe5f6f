// Package urlpaths has the syntax of the paths in spec.serving, which the server and the controller share. A path is
// written as it is, or percent-encoded as in a URL; nginx compares decoded paths.
package urlpaths

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxBytes bounds a decoded path: nginx reads no longer words than 4,000 bytes, and percent-encoding makes three of
// one.
const maxBytes = 1024

// Pattern matches one path, or all paths with a prefix.
type Pattern struct {
	// Path is decoded.
	Path string
	// Prefix says that all paths match that begin with Path, which ends in '/'.
	Prefix bool
}

// Matches reports whether a decoded path matches.
func (p Pattern) Matches(path string) bool {
	return path == p.Path || p.Prefix && strings.HasPrefix(path, p.Path)
}

// BySpecificity orders patterns: exact ones first, then those with longer prefixes. The first that matches a path
// applies.
func BySpecificity(a, b Pattern) int {
	switch {
	case a.Prefix != b.Prefix && b.Prefix:
		return -1
	case a.Prefix != b.Prefix:
		return 1
	}
	return cmp.Compare(len(b.Path), len(a.Path))
}

// placeholder is a segment that other servers replace.
var placeholder = regexp.MustCompile(`/:[A-Za-z][A-Za-z0-9_]*`)

// Parse decodes a path that matches exactly, or that ends in "/*" and matches all paths with the prefix before '*'.
// It rejects the other patterns of redirect files, which would never match.
func Parse(text string) (Pattern, error) {
	path, isPrefix := strings.CutSuffix(text, "*")
	switch {
	case isPrefix && !strings.HasSuffix(path, "/"), strings.Contains(path, "*"):
		return Pattern{}, errors.New("must contain '*' only as the last segment")
	case placeholder.MatchString(path):
		return Pattern{}, errors.New("must not contain a placeholder: only '*' as the last segment is supported")
	}
	decoded, err := Decode(path)
	return Pattern{Path: decoded, Prefix: isPrefix}, err
}

// Decode returns the path that nginx compares. All its characters are allowed by list: printable characters of all
// scripts and spaces, but none that begins a variable or ends a word of nginx's configuration.
func Decode(text string) (string, error) {
	if !strings.HasPrefix(text, "/") {
		return "", errors.New("must begin with '/'")
	}
	if strings.ContainsAny(text, "?#") {
		return "", errors.New("must not contain a query string or fragment: write '%3F' for '?' and '%23' for '#' in a path")
	}
	path, err := url.PathUnescape(text)
	if err != nil {
		return "", errors.New("must have two hexadecimal digits after '%': write '%25' for '%'")
	}
	if len(path) > maxBytes {
		return "", fmt.Errorf("must not be longer than %d bytes, decoded", maxBytes)
	}
	if !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return !isAllowed(r) }) {
		return "", errors.New(`must consist of printable characters and spaces, without '"', '$' and '\', also where encoded`)
	}
	// nginx normalizes paths before it compares them, so these never match.
	if strings.Contains(path, "//") {
		return "", errors.New("must not contain '//'")
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "", errors.New("must not contain the segment '.' or '..'")
		}
	}
	return path, nil
}

func isAllowed(r rune) bool {
	return unicode.IsPrint(r) && !strings.ContainsRune("\"$\\", r)
}

// Encode returns a path as browsers send it.
func Encode(path string) string {
	var encoded strings.Builder
	for _, b := range []byte(path) {
		if b <= ' ' || b > '~' || strings.IndexByte("\"#%<>?^`{}", b) >= 0 {
			fmt.Fprintf(&encoded, "%%%02X", b)
		} else {
			encoded.WriteByte(b)
		}
	}
	return encoded.String()
}
