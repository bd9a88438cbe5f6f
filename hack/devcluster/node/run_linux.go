package node

import (
	"context"
	"os/exec"
	"runtime"

	"github.com/kubesites/website-apiserver/hack/devcluster/command"
)

// Run runs a program in the node whose first process is pid and returns its output.
func Run(ctx context.Context, pid int, name string, args ...string) (string, error) {
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		// It is never unlocked: the thread ends with the goroutine, and no other
		// goroutine ever runs in the node by mistake.
		runtime.LockOSThread()
		if err := Enter(pid); err != nil {
			done <- result{err: err}
			return
		}
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = "/"
		out, err := command.Output(ctx, cmd)
		done <- result{out, err}
	}()
	r := <-done
	return r.out, r.err
}
