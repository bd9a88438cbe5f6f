package branches

import (
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for name, test := range map[string]struct {
		patterns, branch string
		want             bool
	}{
		"the name":             {"next", "next", true},
		"another name":         {"next", "next2", false},
		"everything":           {"*", "feature/a", true},
		"a prefix":             {"feature/*", "feature/a/b", true},
		"nothing in its place": {"feature/*", "feature/", true},
		"not the prefix":       {"feature/*", "features/a", false},
		"a suffix":             {"*-preview", "a-preview", true},
		"in the middle":        {"a*b*c", "aXbYbZc", true},
		"not twice the same":   {"ab*b", "ab", false},
		"a second pattern":     {"x next", "next", true},
		"none":                 {"", "next", false},
		"no other wildcard":    {"nex?", "next", false},
	} {
		if got := Match(strings.Fields(test.patterns), test.branch); got != test.want {
			t.Errorf("%s: %q matches %q: %t", name, test.branch, test.patterns, got)
		}
	}
	begin := time.Now()
	Match([]string{strings.Repeat("a*", 127) + "b"}, strings.Repeat("a", MaxLength))
	if took := time.Since(begin); took > time.Second {
		t.Errorf("a pattern with many wildcards took %v", took)
	}
}

func TestIsValid(t *testing.T) {
	for _, branch := range []string{"main", "feature/a", "v1.2", "a@b", "user#1", "a=b", strings.Repeat("a", MaxLength)} {
		if !IsValid(branch) {
			t.Errorf("%q is not valid", branch)
		}
	}
	for _, branch := range []string{"", "-x", "@", "a..b", "a/", "/a", "a//b", "a.", ".a", "a/.b", "a.lock", "a b", "ä", "a\x00", "a~1", "a:b", strings.Repeat("a", MaxLength+1)} {
		if IsValid(branch) {
			t.Errorf("%q is valid", branch)
		}
	}
}
