package command

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	out, err := Output(t.Context(), exec.Command("sh", "-c", "echo; echo one; echo two; echo noise >&2"))
	if err != nil || out != "one\ntwo" {
		t.Errorf("Output = %q, %v", out, err)
	}
	_, err = Output(t.Context(), exec.Command("sh", "-c", "echo disk full >&2; exit 3"))
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("Output = %v, want the exit code", err)
	} else if text := err.Error(); !strings.HasPrefix(text, "sh -c ") || !strings.HasSuffix(text, ": disk full") {
		t.Errorf("the error is %q, want the command and its standard error", text)
	}
	if _, err := Output(t.Context(), exec.Command("/missing/program")); err == nil ||
		!strings.Contains(err.Error(), "/missing/program") {
		t.Errorf("a missing program: %v", err)
	}
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := Output(ctx, exec.CommandContext(ctx, "sleep", "60")); !errors.Is(err, why) {
		t.Errorf("Output = %v, want the cause", err)
	}
}
