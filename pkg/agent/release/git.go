package release

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
)

// readGit runs git in a repository and has read take its output, of which it need not take all.
func (s *Store) readGit(ctx context.Context, repository string, read func(output io.Reader), arguments ...string) error {
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, "git", append([]string{"-C", repository}, arguments...)...)
	command.Stderr = &stderr
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return fmt.Errorf("starting git: %w", err)
	}
	if s.Started != nil {
		s.Started(ctx, command)
	}
	read(output)
	_, _ = io.Copy(io.Discard, output)
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}
