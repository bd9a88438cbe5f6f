package devcluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// KubectlOptions changes how Cluster.KubectlWith runs kubectl. The zero value
// equals Cluster.Kubectl.
type KubectlOptions struct {
	// Kubeconfig is the client configuration. Default: Cluster.Kubeconfig.
	Kubeconfig string
	// Stdin is the input of "-f -". Default: empty.
	Stdin io.Reader
	// Dir is the working directory. Default: the caller's.
	Dir string
	// Env are further variables, each NAME=value.
	Env []string
}

// Kubectl runs the kubectl of the cluster's version as the administrator and returns
// its output. The error of a failing command contains its exit status; stderr has
// the reason.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	return c.KubectlWith(ctx, KubectlOptions{}, args...)
}

// kubectl is Kubectl with an input, and an error that has the reason.
func (c *Cluster) kubectl(ctx context.Context, stdin string, args ...string) (stdout string, err error) {
	stdout, stderr, err := c.KubectlWith(ctx, KubectlOptions{Stdin: strings.NewReader(stdin)}, args...)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr))
	}
	return stdout, err
}

// kubectlWait is kubectl for a command that waits. It ends at once if a component crashes.
func (c *Cluster) kubectlWait(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, time.Second, false, func(context.Context) (bool, error) {
			err := c.Crash()
			if err != nil {
				cancel(err)
			}
			return err != nil, nil
		})
	})
	_, err := c.kubectl(ctx, "", args...)
	return err
}

// KubectlWith is Kubectl with options.
func (c *Cluster) KubectlWith(ctx context.Context, o KubectlOptions, args ...string) (stdout,
	stderr string, err error) {
	if o.Kubeconfig == "" {
		o.Kubeconfig = c.Kubeconfig()
	}
	cmd := exec.CommandContext(ctx, c.KubectlPath(), args...)
	// kubectl caches discovery for hours in files named after the server's address:
	// the user's cache may come from another cluster at the same address.
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+o.Kubeconfig,
		"KUBECACHEDIR="+c.plan.layout.kubectlCache())
	cmd.Env = append(cmd.Env, o.Env...)
	cmd.Dir = o.Dir
	cmd.Stdin = o.Stdin
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		err = fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), err
}
