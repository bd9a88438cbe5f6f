package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// covered are the packages whose coverage is measured, in the tests of all modules.
	covered = "github.com/kubesites/website-apiserver/pkg/..."
	// programs only write coverage data if their main package is among the covered ones.
	programs = "github.com/kubesites/website-apiserver/cmd/..."
)

// measureCoverage makes all child processes write coverage data to dir: the tests, and the programs
// that they build and start.
func measureCoverage(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the directory of the coverage: %w", err)
	}
	flags := strings.TrimSpace(os.Getenv("GOFLAGS") + " -cover -covermode=atomic -coverpkg=" + covered + "," + programs)
	for name, value := range map[string]string{"GOCOVERDIR": dir, "GOFLAGS": flags} {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}

// mergeCoverage writes the data of all tests and programs to a profile, and returns its last line: the total.
func (r *runner) mergeCoverage(ctx context.Context) (file, total string, err error) {
	file = filepath.Join(r.coverage, "profile.txt")
	merge := r.command(ctx, ".", "go", "tool", "covdata", "textfmt", "-pkg="+covered, "-i="+r.coverage, "-o="+file)
	if output, err := merge.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("merging the coverage: %w: %s", err, output)
	}
	output, err := r.command(ctx, ".", "go", "tool", "cover", "-func="+file).CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("reading the coverage: %w: %s", err, output)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return file, strings.Join(strings.Fields(lines[len(lines)-1]), " "), nil
}
