package docs

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write tests.md")

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)

// claims are the pages whose tables are shown by tests row by row, with the least number of rows.
var claims = map[string]int{"docs/why-not-a-crd.md": 15, "docs/aggregation.md": 10, "SECURITY.md": 15,
	"docs/design/agent-git.md": 10, "docs/design/threats.md": 30}

// claimTables are the first headings of these tables.
var claimTables = []string{"attack", "complaint", "feature", "threat"}

// sources are the directories with tests. The root is not read: each build changes it, and go test would not cache the
// results of this package.
var sources = []string{"cmd", "docs", "hack", "pkg", "test"}

// pageTests are the lines of tests.list below the name of a page.
type pageTests struct {
	page  string
	lines []statement
}

type statement struct {
	text  string
	tests []string
}

// TestTestsPage: tests.md names, for each statement of tests.list, tests that exist.
func TestTestsPage(t *testing.T) {
	files := testFiles(t)
	var page strings.Builder
	page.WriteString("# Tests\n\nThe tests that show the statements of the documents. `go test ./docs -update` generates" +
		" this page from [tests.list](tests.list).\n")
	for _, of := range list(t) {
		if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(of.page))); err != nil {
			t.Errorf("tests.list: %v", err)
		}
		fmt.Fprintf(&page, "\n## %s\n\n| statement | tests |\n|---|---|\n", of.page)
		for _, line := range of.lines {
			var links []string
			for _, name := range line.tests {
				file, err := locate(files, name)
				if err != nil {
					t.Errorf("tests.list: %s: %s: %v", of.page, line.text, err)
				}
				links = append(links, fmt.Sprintf("[%s](../%s)", name[strings.LastIndex(name, ".")+1:], file))
			}
			fmt.Fprintf(&page, "| %s | %s |\n", line.text, strings.Join(links, ", "))
		}
	}
	if *update {
		if err := os.WriteFile("tests.md", []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, "tests.md") != page.String() {
		t.Error(`tests.md is stale: run "go test ./docs -update" and commit the result`)
	}
}

// TestClaimsNameTheirTests: a row of these pages that no test shows is a claim.
func TestClaimsNameTheirTests(t *testing.T) {
	for page, least := range claims {
		known := map[string]bool{}
		for _, of := range list(t) {
			for _, line := range of.lines {
				known[line.text] = known[line.text] || of.page == page
			}
		}
		rows := claimRows(read(t, filepath.Join("..", filepath.FromSlash(page))))
		if len(rows) < least {
			t.Errorf("%s: only %d rows were found", page, len(rows))
		}
		for _, row := range rows {
			if !known[row] {
				t.Errorf("%s: tests.list names no test for the row %q", page, row)
			}
		}
	}
}

// TestOnePageNamesTests: documents name tests in commands only, but for tests.md and CONTRIBUTING.md.
func TestOnePageNamesTests(t *testing.T) {
	name := regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z][a-z]\w*`)
	commands := regexp.MustCompile("(?s)\n```.*?\n```")
	for _, document := range documents(t) {
		if base := filepath.Base(document); base == "tests.md" || base == "CONTRIBUTING.md" {
			continue
		}
		if found := name.FindAllString(commands.ReplaceAllString(read(t, document), ""), -1); len(found) > 0 {
			t.Errorf("%s names %q: tests.list is the place", document, found)
		}
	}
}

// claimRows returns the first cells of the tables of claims, without links.
func claimRows(text string) []string {
	var rows []string
	inTable, claims := false, false
	for line := range strings.Lines(text) {
		cell, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable, claims = false, false
		case !inTable:
			inTable, claims = true, slices.Contains(claimTables, cell)
		case claims && isRow:
			rows = append(rows, link.ReplaceAllString(cell, "$1"))
		}
	}
	return rows
}

func list(t *testing.T) []pageTests {
	t.Helper()
	var pages []pageTests
	for line := range strings.Lines(read(t, "tests.list")) {
		line = strings.TrimSuffix(line, "\n")
		if page, found := strings.CutPrefix(line, "## "); found {
			pages = append(pages, pageTests{page: page})
			continue
		}
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		text, tests, found := strings.Cut(line, " | ")
		if !found || len(pages) == 0 {
			t.Fatalf("tests.list: %q is neither a page nor a statement with its tests", line)
		}
		last := &pages[len(pages)-1]
		last.lines = append(last.lines, statement{text: text, tests: strings.Fields(tests)})
	}
	return pages
}

// testFiles returns the files that have a test, by its name.
func testFiles(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	for _, dir := range sources {
		err := filepath.WalkDir(filepath.Join("..", dir), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(entry.Name(), "_test.go") {
				return err
			}
			relative, err := filepath.Rel("..", file)
			if err != nil {
				return err
			}
			for _, match := range testFunction.FindAllStringSubmatch(read(t, file), -1) {
				files[match[1]] = append(files[match[1]], filepath.ToSlash(relative))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// locate returns the file of a test, whose name begins with its directory where several packages have it.
func locate(files map[string][]string, name string) (string, error) {
	dot := strings.LastIndex(name, ".")
	found := files[name[dot+1:]]
	if dot >= 0 {
		found = slices.DeleteFunc(slices.Clone(found), func(file string) bool { return path.Dir(file) != name[:dot] })
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s is in %d files, want one: %q", name, len(found), found)
	}
	return found[0], nil
}

// TestLocate: a test is found by its name, or by its directory and name.
func TestLocate(t *testing.T) {
	files := map[string][]string{"TestA": {"pkg/a/a_test.go", "pkg/b/a_test.go"}, "TestB": {"pkg/b/b_test.go"}}
	got := map[string]string{}
	for _, name := range []string{"TestA", "pkg/b.TestA", "TestB", "pkg/a.TestB", "TestC"} {
		got[name], _ = locate(files, name)
	}
	want := map[string]string{"TestA": "", "pkg/b.TestA": "pkg/b/a_test.go", "TestB": "pkg/b/b_test.go",
		"pkg/a.TestB": "", "TestC": ""}
	if !maps.Equal(got, want) {
		t.Errorf("files = %v, want %v", got, want)
	}
}
