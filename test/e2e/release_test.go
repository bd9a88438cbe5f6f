package e2e

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// releasePaths are the requests for a page and its files.
var releasePaths = []string{"/", "/style.css", "/app.js", "/docs/", "/docs/page.html", "/docs/page", "/large.txt"}

// release returns the content of a site in which every line of every file names
// the release, by path in the repository.
func release(marker string) map[string]string {
	files := map[string]string{}
	for _, p := range releasePaths {
		name := releaseFile(p)
		files[name] = releaseContent(name, marker)
	}
	return files
}

// releaseFile returns the file that is served for a request.
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
		lines = 4096 // more than one packet, buffer or write
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
		// It is called for each response of the traffic, where Fprintf took a tenth of the CPU of the tests.
		b.WriteString(begin + "[" + marker + "] line " + strconv.Itoa(i) + " of " + name + end + "\n")
	}
	return b.String()
}

var markerPattern = regexp.MustCompile(`\[([^\]]+)\]`)

// releaseOf returns the release of a response body, with an error unless all of
// its bytes belong to it.
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

// TestReleaseOf proves that a mixture is detected.
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
