package gitnames

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unicode"
)

// letters are of several scripts, composed and not, with digits and marks.
var letters = []string{"ä", "a\u0308", "日本", "Ελλάδα", "кириллица", "עברית", "العربية", "हिन्दी", "ไทย", "𝔘𐍈", "٣"}

// refused are no letters, digits or marks, or not in the middle of a name.
var refused = []string{
	"\x00", "\t", "\n", "\r", "\x1b", "\x7f", "\u0085", // control characters
	// formatting characters
	"\u200b", "\u200d", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\ufeff", "\u00ad",
	"\u00a0", "\u2028", "\u3000", // white space
	"\xff", "\xc0\xaf", "\xed\xa0\x80", "\ufffd", "日"[:2], // not UTF-8
	":", "?", "*", "[", "]", "^", "~", `\`, "$", "${x}", "$(x)", "`", "'", `"`, ";", "{", "}", "<", ">", "|", "&", "%",
	"!", ",", "(", ")",
	"\ue000", "\u0378", "“", "、", "€", "🎉",
}

func TestCheckReference(t *testing.T) {
	valid := append([]string{"main", "feature/a", "v1.2", "a@b", "user#1", "a=b", "refs/pull/1/head", "1",
		"Ä/ö.ü"}, letters...)
	for _, name := range valid {
		if err := CheckReference(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	invalid := []string{"", "-x", "@", "a..b", "a/", "/a", "a//b", "a.", ".a", "a/.b", "a.lock", "ä.lock/b", " a", "a ",
		"a b", "main@{1}"}
	for _, part := range refused {
		invalid = append(invalid, part, "a"+part, "日"+part+"b")
	}
	for _, name := range invalid {
		if CheckReference(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

func TestCheckPattern(t *testing.T) {
	for pattern, valid := range map[string]bool{"feature/*": true, "*": true, "zweig/ä-*日本": true, "a b": false,
		"a?": false, "[a]": false, "": false, "\u202ea": false} {
		if err := CheckPattern(pattern); (err == nil) != valid {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestCheckPath(t *testing.T) {
	valid := append([]string{"docs", "docs/_site/v1.0", "my site/日本 docs", "a  b", "..a", ".github", ".gitx",
		"a/.b"}, letters...)
	for _, dir := range valid {
		if err := CheckPath(dir); err != nil {
			t.Errorf("%q: %v", dir, err)
		}
	}
	invalid := []string{"", "/a", "a/", "a//b", ".", "a/../b", "a/.", ".git", "a/.GIT/b", ".git ", "-a", "a/-b", " a",
		"a ", "a/ b", "a /b", " ", "a@b", "a+b", "a#b", "a=b"}
	for _, part := range refused {
		invalid = append(invalid, part, "a"+part, "日"+part+"b")
	}
	for _, dir := range invalid {
		if CheckPath(dir) == nil {
			t.Errorf("%q is accepted", dir)
		}
	}
}

// FuzzNames: git accepts the names that are accepted, and no name prints as another one.
func FuzzNames(f *testing.F) {
	git, err := exec.LookPath("git")
	if err != nil {
		f.Skip("no git on PATH: install it to test that it accepts the names")
	}
	for _, name := range append(append([]string{"a..b", "a.lock", "a/.b", "my site", ".git"}, letters...), refused...) {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		reference, path := CheckReference(name) == nil, CheckPath(name) == nil
		// The kernel accepts no argument of more than 128 KiB.
		if reference && len(name) < 64<<10 {
			if err := exec.Command(git, "check-ref-format", "refs/heads/"+name).Run(); err != nil {
				t.Errorf("git does not accept %q: %v", name, err)
			}
		}
		quoted := fmt.Sprintf("%q", name)
		if (reference || path) && (quoted != `"`+name+`"` || strings.ContainsFunc(name, unicode.IsControl)) {
			t.Errorf("%q is accepted", name)
		}
	})
}
