package branches

import (
	"slices"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/gitnames"
)

// MaxLength is the length in bytes of the longest branch that can have a preview.
const MaxLength = 255

// IsValid reports whether a Website can name a branch. A repository can have others.
func IsValid(branch string) bool {
	return len(branch) <= MaxLength && gitnames.CheckReference(branch) == nil
}

// Match reports whether a branch matches one of the patterns, in which "*" stands for any
// characters, slashes included.
func Match(patterns []string, branch string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, branch) })
}

// matches takes time in proportion to the lengths only: patterns are of users.
func matches(pattern, branch string) bool {
	first, rest, isWildcard := strings.Cut(pattern, "*")
	if !isWildcard {
		return pattern == branch
	}
	branch, found := strings.CutPrefix(branch, first)
	if !found {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		_, after, found := strings.Cut(branch, part)
		if !found {
			return false
		}
		branch = after
	}
	return strings.HasSuffix(branch, last)
}
