package node

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// Run runs a program in the node whose first process is pid and returns what it printed.
func Run(ctx context.Context, pid int, name string, args ...string) (string, error) {
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and nothing else ever runs
		// in the node by mistake.
		runtime.LockOSThread()
		if err := Enter(pid); err != nil {
			done <- result{err: err}
			return
		}
		out, err := execute(ctx, name, args...)
		done <- result{out, err}
	}()
	r := <-done
	return r.out, r.err
}

// execute runs a program and returns what it printed; its error ends with what it said.
func execute(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "/"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
