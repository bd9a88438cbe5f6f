package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// line is a line of the terminal, and the time since the start of the session at which it appeared.
type line struct {
	at      time.Duration
	command bool
	text    string
}

// pause is added before each command, in which a viewer reads.
const pause = 1200 * time.Millisecond

// end marks the end of a command in the output of the shell.
const end = "\x01"

// record runs commands in one shell. It fails with the first command that fails.
func record(ctx context.Context, dir string, env, commands []string) ([]line, error) {
	shell := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-o", "pipefail")
	shell.Dir, shell.Env = dir, env
	stdin, err := shell.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting the shell: %w", err)
	}
	output, writer := io.Pipe()
	shell.Stdout, shell.Stderr = writer, writer
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("starting the shell: %w", err)
	}
	go func() { _ = writer.CloseWithError(shell.Wait()) }()
	defer func() { _ = stdin.Close() }()

	var lines []line
	var clock time.Duration
	scanner := bufio.NewScanner(output)
	for _, command := range commands {
		clock += pause
		lines = append(lines, line{at: clock, command: true, text: command})
		started := time.Now()
		if _, err := fmt.Fprintf(stdin, "%s\nprintf '%s%%d\\n' $?\n", command, end); err != nil {
			return nil, fmt.Errorf("running %q: %w", command, err)
		}
		for {
			if !scanner.Scan() {
				return nil, fmt.Errorf("running %q: the shell has ended: %v", command, scanner.Err())
			}
			text, status, ended := strings.Cut(scanner.Text(), end)
			if text != "" || !ended {
				lines = append(lines, line{at: clock + time.Since(started), text: text})
			}
			if !ended {
				continue
			}
			if code, err := strconv.Atoi(status); err != nil || code != 0 {
				return nil, fmt.Errorf("%q ended with status %q: %s", command, status, lines[len(lines)-1].text)
			}
			break
		}
		clock += time.Since(started)
	}
	return lines, nil
}
