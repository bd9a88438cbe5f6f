package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const (
	header = "Promise: a page is served.\nOrigin: undoes 0123abc Serve pages\nTest: test ./e2e TestPage/of_a_site\n"
	diff   = "\n--- a/pkg/page.go\n+++ b/pkg/page.go\n@@ -1 +1 @@\n-a\n+b\n"
)

func TestParse(t *testing.T) {
	m := mutant{patch: header + "Test: . ./pkg TestOther\n" + diff}
	if err := m.parse(); err != nil {
		t.Fatal(err)
	}
	want := mutant{
		patch: m.patch,
		tests: []test{{"test", "./e2e", "TestPage/of_a_site"}, {".", "./pkg", "TestOther"}},
		files: []string{"pkg/page.go"},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("parsed %+v, want %+v", m, want)
	}
	if got := m.tests[0].pattern(); got != "^TestPage$/^of_a_site$" {
		t.Errorf("the pattern is %s", got)
	}
	for name, text := range map[string]string{
		"no promise":          strings.Replace(header, "Promise: a page is served.\n", "", 1) + diff,
		"two origins":         header + "Origin: undoes 0123abd Serve more pages\n" + diff,
		"no commit":           strings.Replace(header, "0123abc", "former", 1) + diff,
		"no kind of a draw":   strings.Replace(header, "undoes 0123abc Serve pages", "drawn with seed 1", 1) + diff,
		"no test":             strings.Split(header, "Test:")[0] + diff,
		"no package":          strings.Replace(header, "./e2e ", "", 1) + diff,
		"two names":           strings.Replace(header, "Test:", "Test: TestAll", 1) + diff,
		"another line":        header + "See: elsewhere\n" + diff,
		"no file":             header + "\n",
		"no end of the lines": strings.TrimSpace(header) + diff,
	} {
		if err := (&mutant{patch: text}).parse(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPatches checks each patch without running its tests.
func TestPatches(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := patches(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]int{}
	for _, path := range paths {
		m, err := read(path)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		for _, test := range m.tests {
			if !test.exists(root) {
				t.Errorf("%s: no %s in %s of the module %s", m.name, test.name, test.pkg, test.module)
			}
		}
		changed := map[string]bool{}
		for _, file := range m.files {
			changed[filepath.Dir(file)] = true
			// Go repeats this test when a file that it has read changes.
			if _, err := os.ReadFile(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
		for name := range changed {
			packages[name]++
		}
		if _, err := run(root, "git", "apply", "--check", path); err != nil {
			t.Errorf("%s does not apply: %v", m.name, err)
		}
	}
	for name, count := range packages {
		if count > 3 {
			t.Errorf("%d patches change %s, want at most 3", count, name)
		}
	}
}
