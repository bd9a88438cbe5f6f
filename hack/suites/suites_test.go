package main

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

func TestTableOfSuites(t *testing.T) {
	names := map[string]bool{}
	for _, s := range suites {
		if names[s.name] || s.name == "" || s.about == "" || s.budget == 0 || len(s.steps) == 0 {
			t.Errorf("suite %q: want a name of its own, a description, a budget and steps", s.name)
		}
		names[s.name] = true
		for _, st := range s.steps {
			if (len(st.command) == 0) == (len(st.packages) == 0) {
				t.Errorf("suite %s: want packages or a command in each step", s.name)
			}
			if st.cached && len(st.args) > 0 {
				t.Errorf("suite %s: go test caches nothing with arguments of the test binary", s.name)
			}
		}
	}
}

// TestEveryPackageIsInASuite fails if no suite has all tests of a package.
func TestEveryPackageIsInASuite(t *testing.T) {
	root := filepath.Join("..", "..")
	plans, err := makePlans(t.Context(), root, suites)
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, p := range plans {
		for _, st := range p.steps {
			for _, pkg := range st.packages {
				dir := path.Join(st.module, pkg.dir)
				tested[dir] = tested[dir] || len(st.tests) == 0
			}
		}
	}
	// go test caches the result of this test until a directory that it reads changes.
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && (strings.ContainsAny(name[:1], "._") || name == "testdata" || name == "bin" || name == "dist") {
				return fs.SkipDir
			}
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err == nil && strings.HasSuffix(name, "_test.go") && !tested[filepath.ToSlash(dir)] {
			tested[filepath.ToSlash(dir)] = true
			t.Errorf("no suite runs the tests in %s", dir)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
