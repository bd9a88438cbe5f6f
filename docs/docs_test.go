// Package docs holds the documents, and tests of their links and tables.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// link is one of Markdown, with its text and target.
	link = regexp.MustCompile(`\[([^\]\[]+)\]\(([^)\s]+)\)`)
	// testName is a text that names a test.
	testName = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w*$`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestLinks follows the links of every document to files, headings and tests.
func TestLinks(t *testing.T) {
	for _, document := range documents(t) {
		t.Run(filepath.Base(document), func(t *testing.T) {
			text := read(t, document)
			for _, match := range link.FindAllStringSubmatch(text, -1) {
				name, target := match[1], match[2]
				if strings.Contains(target, "://") {
					continue // The test has no network.
				}
				path, anchor, _ := strings.Cut(target, "#")
				linked := text
				if path != "" {
					file := filepath.Join(filepath.Dir(document), filepath.FromSlash(path))
					info, err := os.Stat(file)
					if err != nil {
						t.Errorf("%s: %v", match[0], err)
						continue
					}
					if info.IsDir() {
						continue
					}
					linked = read(t, file)
				}
				if anchor != "" && !anchors(linked)[anchor] {
					t.Errorf("%s: there is no such heading", match[0])
				}
				if testName.MatchString(name) && !strings.Contains(linked, "\nfunc "+name+"(") {
					t.Errorf("%s: there is no such test in that file", match[0])
				}
			}
		})
	}
}

// TestTablesHaveValues: a row with a name only was meant to have numbers.
func TestTablesHaveValues(t *testing.T) {
	for _, document := range documents(t) {
		for line := range strings.Lines(read(t, document)) {
			_, values, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
			if strings.Contains(values, "–") && strings.Trim(values, "|– \n") == "" {
				t.Errorf("%s: this row has no value: %s", document, line)
			}
		}
	}
}

// documents returns the files of the documents here and of those at the root.
func documents(t *testing.T) []string {
	t.Helper()
	here, err := filepath.Glob("*.md")
	if err != nil || len(here) == 0 {
		t.Fatalf("documents = %v (%v), want some", here, err)
	}
	design, err := filepath.Glob(filepath.Join("design", "*.md"))
	if err != nil || len(design) == 0 {
		t.Fatalf("documents of the design = %v (%v), want some", design, err)
	}
	return append(append(here, design...), filepath.Join("..", "README.md"), filepath.Join("..", "CONTRIBUTING.md"),
		filepath.Join("..", "SECURITY.md"), filepath.Join("..", "CHANGELOG.md"))
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// anchors returns the anchors of the headings of a document, as code hosts make them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(match[1])
		name = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(name, "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}
