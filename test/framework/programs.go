package framework

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
)

// BuildProgram builds a static program from a package of the module in dir, and returns its path.
// The program is removed when the test ends.
func BuildProgram(t *testing.T, dir, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", program, pkg)
	build.Dir, build.Env = dir, append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s in %s: %v\n%s", pkg, dir, err, out)
	}
	return program
}

// RunProgram runs a program until the test ends, and logs its output if the test failed.
func RunProgram(t *testing.T, program string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := cmd.Wait()
		if t.Failed() {
			t.Logf("%s %v ended with %v: %s", filepath.Base(program), args, err, log.String())
		}
	})
}
