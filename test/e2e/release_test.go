package e2e

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// releasePaths are requests that a page and what it loads make.
var releasePaths = []string{"/", "/style.css", "/app.js", "/docs/", "/docs/page.html", "/docs/page", "/large.txt"}

// release is the content of a site in which every line of every file says
// which release it belongs to, by path in the repository.
func release(marker string) map[string]string {
	files := map[string]string{}
	for _, p := range releasePaths {
		name := releaseFile(p)
		files[name] = releaseContent(name, marker)
	}
	return files
}

// releaseFile is the file that answers a request.
func releaseFile(p string) string {
	switch {
	case strings.HasSuffix(p, "/"):
		p += "index.html"
	case path.Ext(p) == "":
		p += ".html"
	}
	return strings.TrimPrefix(p, "/")
}

func releaseContent(name, marker string) string {
	lines := 8
	if name == "large.txt" {
		lines = 4096 // more than fits into one packet, buffer or write
	}
	begin, end := "", ""
	switch path.Ext(name) {
	case ".html":
		begin, end = "<p>", "</p>"
	case ".css", ".js":
		begin, end = "/*", "*/"
	}
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%s[%s] line %d of %s%s\n", begin, marker, i, name, end)
	}
	return b.String()
}

var markerPattern = regexp.MustCompile(`\[([^\]]+)\]`)

// releaseOf says to which release an answer belongs, with an error unless it
// does from its first to its last byte.
func releaseOf(p, body string) (marker string, err error) {
	found := markerPattern.FindStringSubmatch(body)
	if found == nil {
		return "", fmt.Errorf("%s belongs to no release: %.100q", p, body)
	}
	if want := releaseContent(releaseFile(p), found[1]); body != want {
		return "", fmt.Errorf("%s begins like release %s but differs from it: it has %d bytes, want %d", p, found[1],
			len(body), len(want))
	}
	return found[1], nil
}

// TestReleaseOf makes sure that a mixture would be seen.
func TestReleaseOf(t *testing.T) {
	one, two := releaseContent("large.txt", "one"), releaseContent("large.txt", "two")
	if marker, err := releaseOf("/large.txt", two); err != nil || marker != "two" {
		t.Errorf("releaseOf = %q, %v, want two", marker, err)
	}
	half := len(one) / 2
	for name, body := range map[string]string{
		"two releases": one[:half] + two[half:], "cut off": one[:half], "empty": "",
		"another file": releaseContent("app.js", "one"),
	} {
		if marker, err := releaseOf("/large.txt", body); err == nil {
			t.Errorf("%s: releaseOf = %q, want an error", name, marker)
		}
	}
}
