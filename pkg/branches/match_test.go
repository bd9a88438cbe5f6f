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
		"letters of a script":  {"zweig/*-日本", "zweig/ä-日本", true},
		"decomposed":           {"z\u0308", "\u1e91", false},
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
	for _, branch := range []string{"main", strings.Repeat("a", MaxLength), strings.Repeat("日", MaxLength/3)} {
		if !IsValid(branch) {
			t.Errorf("%q is not valid", branch)
		}
	}
	for _, branch := range []string{"", "a b", strings.Repeat("a", MaxLength+1), strings.Repeat("日", MaxLength/3) + "a"} {
		if IsValid(branch) {
			t.Errorf("%q is valid", branch)
		}
	}
}
