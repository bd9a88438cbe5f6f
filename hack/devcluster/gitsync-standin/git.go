package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// settings are those that git-sync gives git by a file.
var settings = []string{"safe.directory=*", "gc.autoDetach=false", "gc.pruneExpire=now", "core.askPass=true", "advice.detachedHead=false"}

// git runs git and returns what it printed. At the end of ctx it kills git alone, and then
// waits for as long as a child of git, such as git-remote-http, keeps the output open: as
// long as a server likes.
func (s *syncer) git(ctx context.Context, dir string, args ...string) (string, error) {
	all := []string{"-C", dir}
	for _, setting := range settings {
		all = append(all, "-c", setting)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	environment, err := s.environment()
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = environment, &stdout, &stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	printed := strings.TrimSpace(stdout.String())
	if err != nil {
		return printed, fmt.Errorf("Run(%s): %w: { stdout: %q, stderr: %q }",
			commandLine(append([]string{"git"}, args...)), err, printed, strings.TrimSpace(stderr.String()))
	}
	return printed, nil
}
