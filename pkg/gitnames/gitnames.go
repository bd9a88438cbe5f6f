// Package gitnames has the rules for the names of references and directories in a git repository, which the server,
// the controller and the agent share. They list the characters that are allowed: letters, digits and marks of all
// scripts, and some punctuation. Control and formatting characters, and invalid UTF-8, are thereby rejected.
package gitnames

import (
	"errors"
	"strings"
	"unicode"
)

// CheckReference applies the rules of git check-ref-format, which allows no space, and rejects names that git could
// interpret as an option.
func CheckReference(name string) error {
	switch {
	case strings.HasPrefix(name, "-"):
		return errors.New("must not begin with '-'")
	case !consistsOf(name, "._/@+#=-"):
		return errors.New("must consist of letters and digits of any script, and the characters . _ / @ + # = -")
	case name == "@":
		return errors.New("must not be '@', which git takes for HEAD")
	case strings.Contains(name, ".."):
		return errors.New("must not contain '..'")
	case strings.HasPrefix(name, "/"), strings.HasSuffix(name, "/"), strings.Contains(name, "//"):
		return errors.New("must not begin or end with '/', or contain '//'")
	case strings.HasSuffix(name, "."):
		return errors.New("must not end with '.'")
	}
	for segment := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(segment, ".") || strings.HasSuffix(segment, ".lock") {
			return errors.New("no part between slashes may begin with '.' or end with '.lock'")
		}
	}
	return nil
}

// CheckPattern checks the characters of a pattern of branches. A pattern that matches no valid branch is harmless.
func CheckPattern(pattern string) error {
	if !consistsOf(pattern, "._/@+#=-*") {
		return errors.New("must consist of letters and digits of any script, and the characters . _ / @ + # = - *")
	}
	return nil
}

// CheckPath checks a directory of a repository, which must not lead out of the repository or into its metadata.
func CheckPath(dir string) error {
	if strings.HasPrefix(dir, "/") || strings.HasSuffix(dir, "/") || strings.Contains(dir, "//") {
		return errors.New("must be relative, without '/' at its end or '//' in it")
	}
	for segment := range strings.SplitSeq(dir, "/") {
		switch {
		case !consistsOf(segment, "._- "):
			return errors.New("must consist of letters and digits of any script, spaces, and the characters . _ - /")
		case segment == "." || segment == "..":
			return errors.New("must not contain the segment '.' or '..'")
		case strings.EqualFold(segment, ".git"):
			return errors.New("must not lead into '.git'")
		case strings.HasPrefix(segment, "-"):
			return errors.New("no segment may begin with '-'")
		case strings.HasPrefix(segment, " "), strings.HasSuffix(segment, " "):
			return errors.New("no segment may begin or end with a space")
		}
	}
	return nil
}

// consistsOf reports whether a name has letters, digits, marks and this punctuation only, and is not empty.
func consistsOf(name, punctuation string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit) && !strings.ContainsRune(punctuation, r)
	})
}
