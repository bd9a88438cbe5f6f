package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// makeArguments are the arguments of "make up" and "make down" for the cluster of the tests. A
// directory of its own, makeDir, and ports of its own keep it apart from the developer's cluster.
var (
	makeArguments []string
	makeDir       string
)

// MakeUpOutput is the output of "make up".
var MakeUpOutput string

// runMakeUp runs the tests in a cluster that "make up" starts and "make down" removes.
func runMakeUp(m *testing.M, options Options) (code int, err error) {
	ctx := context.Background()
	temp, err := os.MkdirTemp("", "website-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(temp)
	makeDir = filepath.Join(temp, "cluster")
	if err := node.Suitable(ctx, makeDir); err != nil {
		unsuitable = fmt.Errorf("%w: %w", devcluster.ErrUnsuitable, err)
		fmt.Fprintf(os.Stderr, "%s tests are skipped: %v\n", options.Name, unsuitable)
		return m.Run(), nil
	}
	makeArguments = append([]string{"NODE=real", "CLUSTER_DIR=" + makeDir, "BASE_PORT="}, options.MakeUp...)
	defer removeAtInterrupt(makeDir, temp)()
	err = MakeUp(ctx)
	if err == nil && options.Started != nil {
		err = options.Started()
	}
	if err == nil {
		code = m.Run()
	}
	if err != nil || code != 0 {
		err = errors.Join(err, keepLogs(options.Name, makeDir))
	}
	_, downErr := MakeDown(ctx)
	if err = errors.Join(err, downErr); err == nil && options.Stopped != nil {
		err = options.Stopped()
	}
	return code, err
}

// MakeUp runs "make up" for the cluster of the tests, and joins it.
func MakeUp(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if MakeUpOutput, err = runMake(ctx, "up"); err != nil {
		return err
	}
	Cluster, err = devcluster.Join(makeDir)
	return err
}

// MakeDown runs "make down" for the cluster of the tests, and returns its output.
func MakeDown(ctx context.Context) (output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return runMake(ctx, "down")
}

func runMake(ctx context.Context, target string) (string, error) {
	cmd := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory", target}, makeArguments...)...)
	cmd.Dir = Path()
	// make sets variables for the programs that it runs, also for these tests.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"NODE", "IMAGES", "UP_FLAGS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"},
			name)
	})
	// An interrupted "make up" stops the processes that it has started.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	output, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make %s: %w\n%s", target, err, output)
	}
	return string(output), nil
}
