// Package command runs programs and returns their output.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Output runs a command that was made with ctx and returns its trimmed standard
// output. The error contains the command and its standard error.
func Output(ctx context.Context, cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if err == nil {
		return string(bytes.TrimSpace(out)), nil
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
}
