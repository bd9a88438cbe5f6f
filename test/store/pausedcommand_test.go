package store

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pausedCommand is "import run", paused after a line of its output. It has printed no later line, however slow the test
// is: its pipe holds one, and the command is paused before that one is read.
type pausedCommand struct {
	*exec.Cmd
	output *bufio.Reader
}

// startUntil starts "import run" and pauses it when it has printed a line with a prefix.
func (o *original) startUntil(t *testing.T, prefix string) *pausedCommand {
	t.Helper()
	output, input := newLinePipe(t)
	c := &pausedCommand{Cmd: o.importCommand(t.Context(), "run"), output: bufio.NewReader(output)}
	c.Stdout, c.Stderr = input, input
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// The end of the output is seen once the command alone has this end of the pipe open.
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	printed := ""
	for {
		waitReadable(t, output)
		c.pause(t)
		line, err := c.output.ReadString('\n')
		t.Logf("import run: %s", line)
		if printed += line; err != nil {
			t.Fatalf("import run has not printed %q: %v: %s", prefix, c.Wait(), printed)
		}
		if strings.HasPrefix(line, prefix) {
			return c
		}
		c.signal(t, syscall.SIGCONT)
	}
}

// resume lets the command run to its end, and returns its further output.
func (c *pausedCommand) resume(t *testing.T) (string, error) {
	t.Helper()
	c.signal(t, syscall.SIGCONT)
	rest, err := io.ReadAll(c.output)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Wait()
	return string(rest), err
}

// pause returns when all threads of the command are stopped, or it has ended.
func (c *pausedCommand) pause(t *testing.T) {
	t.Helper()
	c.signal(t, syscall.SIGSTOP)
	err := retryInterrupted(func() error {
		return unix.Waitid(unix.P_PID, c.Process.Pid, nil, unix.WSTOPPED, nil)
	})
	if err != nil && !errors.Is(err, unix.ECHILD) {
		t.Fatalf("pausing import run: %v", err)
	}
}

func (c *pausedCommand) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := c.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("sending %s to import run: %v", s, err)
	}
}

// newLinePipe returns a pipe that holds one write: the next one blocks until the first is read.
func newLinePipe(t *testing.T) (output, input *os.File) {
	t.Helper()
	ends := make([]int, 2)
	if err := unix.Pipe2(ends, unix.O_DIRECT|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	output, input = os.NewFile(uintptr(ends[0]), "output"), os.NewFile(uintptr(ends[1]), "input")
	t.Cleanup(func() { _ = output.Close() })
	if _, err := unix.FcntlInt(input.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
		t.Fatal(err)
	}
	return output, input
}

// waitReadable returns when a read of a pipe does not block.
func waitReadable(t *testing.T, output *os.File) {
	t.Helper()
	err := retryInterrupted(func() error {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(output.Fd()), Events: unix.POLLIN}}, -1)
		return err
	})
	if err != nil {
		t.Fatalf("waiting for output of import run: %v", err)
	}
}

// retryInterrupted repeats a system call that a signal to the test interrupts.
func retryInterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
