package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// plan is a suite with its tests in the checkout.
type plan struct {
	suite
	steps []stepPlan
	// tests is the number of top-level tests.
	tests int
	// last is the duration of the last run that passed.
	last time.Duration
}

type stepPlan struct {
	step
	packages []pkg
}

// pkg is a package with its top-level tests. dir is relative to its module, as an argument of
// go test.
type pkg struct {
	importPath, dir string
	tests           []string
}

// makePlans finds the tests of all suites in the checkout without compiling.
func makePlans(ctx context.Context, root string, suites []suite) ([]plan, error) {
	plans := make([]plan, 0, len(suites))
	for _, s := range suites {
		p := plan{suite: s}
		for _, st := range s.steps {
			if len(st.command) > 0 {
				p.steps, p.tests = append(p.steps, stepPlan{step: st}), p.tests+1
				continue
			}
			packages, err := listPackages(ctx, filepath.Join(root, st.module), st.packages)
			if err != nil {
				return nil, fmt.Errorf("suite %s: %w", s.name, err)
			}
			tests, err := countTests(st, packages)
			if err != nil {
				return nil, fmt.Errorf("suite %s: %w", s.name, err)
			}
			p.steps, p.tests = append(p.steps, stepPlan{st, packages}), p.tests+tests
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// testFunction matches a test as gofmt writes it. Fuzz targets run with their seeds.
var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)(?:[^a-z(][^(]*)?)\([^)]*\*testing\.[TF]\)`)

// listPackages returns the packages of a module that match the patterns of go test.
func listPackages(ctx context.Context, module string, patterns []string) ([]pkg, error) {
	// With -find, go does not resolve imports, and downloads nothing.
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-find", "-json"}, patterns...)...)
	cmd.Dir = module
	output, err := cmd.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s in %s: %w", strings.Join(patterns, " "), module, err)
	}
	var packages []pkg
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var listed struct {
			Dir, ImportPath           string
			TestGoFiles, XTestGoFiles []string
			Module                    struct{ Path string }
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the packages of %s: %w", module, err)
		}
		p := pkg{importPath: listed.ImportPath, dir: "." + strings.TrimPrefix(listed.ImportPath, listed.Module.Path)}
		for _, file := range slices.Concat(listed.TestGoFiles, listed.XTestGoFiles) {
			source, err := os.ReadFile(filepath.Join(listed.Dir, file))
			if err != nil {
				return nil, fmt.Errorf("finding tests: %w", err)
			}
			for _, match := range testFunction.FindAllSubmatch(source, -1) {
				p.tests = append(p.tests, string(match[1]))
			}
		}
		packages = append(packages, p)
	}
}

// countTests returns the number of tests of a step. All tests that the step names must exist.
func countTests(st step, packages []pkg) (int, error) {
	count := map[string]int{}
	sum := 0
	for _, p := range packages {
		for _, test := range p.tests {
			count[test]++
			sum++
		}
	}
	if len(st.tests) > 0 {
		sum = 0
	}
	for _, test := range st.tests {
		if count[test] == 0 {
			return 0, fmt.Errorf("%s in %s has no test %s", strings.Join(st.packages, " "), st.module, test)
		}
		sum += count[test]
	}
	if sum == 0 {
		return 0, fmt.Errorf("%s in %s has no test", strings.Join(st.packages, " "), st.module)
	}
	return sum, nil
}

// testKey is a test, and the directory of its package relative to the root of the repository.
type testKey struct{ dir, test string }

// readUnreliable reads the list of tests that may fail once, with the reason of each.
func readUnreliable(file string, plans []plan) (map[testKey]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the unreliable tests: %w", err)
	}
	exists := map[testKey]bool{}
	for _, p := range plans {
		for _, st := range p.steps {
			for _, pkg := range st.packages {
				for _, test := range pkg.tests {
					exists[testKey{path.Join(st.module, pkg.dir), test}] = true
				}
			}
		}
	}
	reasons := map[testKey]string{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s:%d: want a package, a test and a reason", file, number)
		}
		key := testKey{fields[0], fields[1]}
		if !exists[key] {
			return nil, fmt.Errorf("%s:%d: package %s has no test %s", file, number, key.dir, key.test)
		}
		reasons[key] = strings.Join(fields[2:], " ")
	}
	return reasons, nil
}
