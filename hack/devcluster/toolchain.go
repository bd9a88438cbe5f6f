package devcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster/command"
)

// toolchain builds the programs.
type toolchain struct {
	goVersion, goos, goarch string
}

// findToolchain checks that this machine has the requirements of a build.
func findToolchain(ctx context.Context, repoDir string) (toolchain, error) {
	var t toolchain
	for tool, why := range map[string]string{
		"go":  "it builds every program of the cluster: install it from your system's packages or from go.dev/dl",
		"git": "it holds the repositories of sites: install it from your system's packages",
	} {
		if _, err := exec.LookPath(tool); err != nil {
			return t, fmt.Errorf("the tool %q is missing in PATH: %s", tool, why)
		}
	}
	// The command runs in the checkout, so that Go may switch to the toolchain in go.mod.
	out, err := output(ctx, repoDir, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return t, fmt.Errorf("go fails in %s: %w", repoDir, err)
	}
	fields := strings.Fields(out)
	if len(fields) < 3 {
		return t, fmt.Errorf("go env printed %q, want three values", out)
	}
	t.goVersion, t.goos, t.goarch = fields[0], fields[len(fields)-2], fields[len(fields)-1]
	return t, nil
}

// module has the relevant parts of a go.mod file.
type module struct {
	Require []struct{ Path, Version string }
	Replace []struct{ Old, New struct{ Path string } }
}

func readModule(ctx context.Context, dir string) (module, error) {
	var m module
	out, err := output(ctx, dir, "go", "mod", "edit", "-json")
	if err != nil {
		return m, fmt.Errorf("reading %s: %w", filepath.Join(dir, "go.mod"), err)
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		return m, fmt.Errorf("reading %s: %w", filepath.Join(dir, "go.mod"), err)
	}
	return m, nil
}

// version returns the version that go.mod requires of a module.
func (m module) version(path string) (string, error) {
	for _, r := range m.Require {
		if r.Path == path {
			return r.Version, nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", path)
}

// goEnv returns the environment of all builds: pure Go programs, and every module for itself even if the
// developer has a workspace. With GOGC=400 the compiler takes a fifth less CPU time, as most of its
// processes end before they need the memory again.
func goEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOGC=400")
}

// output runs a tool in dir and returns its output, without the final newline.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = goEnv()
	interrupt(cmd)
	return command.Output(ctx, cmd)
}

// interrupt makes a cancelled command remove its temporary files.
func interrupt(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
}
