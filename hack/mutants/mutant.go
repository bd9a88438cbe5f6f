package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mutant is a patch of test/mutants.
type mutant struct {
	// name is the name of the file without its extension, such as 03-other-namespace.
	name string
	// patch is the header and the diff.
	patch string
	// tests fail with the patch, the cheapest one first.
	tests []test
	// files are changed by the patch.
	files []string
}

// test is a test or subtest, with the directory of its module and its package as arguments of
// "go test".
type test struct{ module, pkg, name string }

var (
	fileName = regexp.MustCompile(`^[0-9]{2}-[a-z0-9-]+\.patch$`)
	origin   = regexp.MustCompile(`^(undoes [0-9a-f]{7,} \S|drawn with seed [0-9]+ \(.+\))`)
	newFile  = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)
)

// read returns a mutant, or an error about its header.
func read(path string) (mutant, error) {
	m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".patch")}
	text, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	if !fileName.MatchString(filepath.Base(path)) {
		return m, errors.New("the name of the file is not NN-short-name.patch")
	}
	m.patch = string(text)
	return m, m.parse()
}

func (m *mutant) parse() error {
	header, diff, _ := strings.Cut(m.patch, "\n\n")
	values := map[string][]string{}
	for _, line := range strings.Split(header, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		if key != "Promise" && key != "Origin" && key != "Test" {
			return fmt.Errorf("the header has the line %q", line)
		}
		values[key] = append(values[key], value)
	}
	if len(values["Promise"]) != 1 || len(values["Origin"]) != 1 || len(values["Test"]) == 0 {
		return errors.New("the header does not have one Promise, one Origin, and a Test")
	}
	if !origin.MatchString(values["Origin"][0]) {
		return fmt.Errorf("the origin %q is neither an undone commit nor a draw", values["Origin"][0])
	}
	for _, value := range values["Test"] {
		fields := strings.Fields(value)
		if len(fields) != 3 {
			return fmt.Errorf("the test %q is not a module, a package and a name", value)
		}
		m.tests = append(m.tests, test{fields[0], fields[1], fields[2]})
	}
	for _, match := range newFile.FindAllStringSubmatch(diff, -1) {
		m.files = append(m.files, match[1])
	}
	if len(m.files) == 0 {
		return errors.New("the patch changes no file")
	}
	return nil
}

// pattern returns the value of -run that selects only the test.
func (t test) pattern() string {
	parts := strings.Split(t.name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// exists reports whether a checkout has the test. Subtests are only known in a run.
func (t test) exists(root string) bool {
	name, _, _ := strings.Cut(t.name, "/")
	paths, _ := filepath.Glob(filepath.Join(root, t.module, t.pkg, "*_test.go"))
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
