package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/disk"
)

const (
	// endGrace is the time that git may take to remove its temporary files after SIGTERM.
	endGrace = 2 * time.Second
	// maxPrinted limits the memory for the output of a command.
	maxPrinted = 16 << 10
)

// setting is a setting of git's configuration.
type setting struct{ key, value string }

// command is one run of git.
type command struct {
	args []string
	// env is added to the environment of every command.
	env   []string
	stdin io.Reader
	// stdout receives the output. Without it, the end of the output is returned.
	stdout io.Writer
	// protocols are the transports that may be used, separated by colons. Without any, git reaches no server, and so
	// cannot fetch a missing object on its own.
	protocols string
	// room limits each file that is written, in bytes; 0: no limit.
	room int64
	// page is set if the last HTTP response was a web page.
	page *bool
}

// launch sets the limits before git starts, so that no child of git escapes them. File sizes are in units of 512
// bytes, memory in KiB. Without a trap, a git that exceeds the size would end by a signal and not say why.
const launch = `ulimit -c 0; test "$1" = 0 || ulimit -d "$1"; test "$2" = 0 || { trap "" XFSZ; ulimit -f "$2"; }; ` +
	`umask 022; shift 2; exec "$@"`

// baseSettings hold for every command.
var baseSettings = []setting{
	{"core.hooksPath", os.DevNull},
	{"core.attributesFile", os.DevNull},
	{"core.fsmonitor", "false"},
	{"core.logAllRefUpdates", "false"},
	// Releases are hard links to the files of the worktree, which change their ctime.
	{"core.trustctime", "false"},
	{"credential.helper", ""},
	{"protocol.version", "2"},
	{"fetch.recurseSubmodules", "false"},
	{"submodule.recurse", "false"},
	{"fetch.unpackLimit", "1"},
	{"fetch.writeCommitGraph", "false"},
	{"transfer.bundleURI", "false"},
	{"promisor.acceptFromServer", "None"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	// By default git holds files of up to 512 MiB in memory, and as many deltas as there are processors. Each thread
	// counts with the whole of its stack towards the memory limit.
	{"core.bigFileThreshold", "16m"},
	{"pack.threads", "1"},
	{"pack.windowMemory", "32m"},
	{"core.preloadIndex", "false"},
	{"index.threads", "1"},
	{"checkout.workers", "1"},
}

// run runs git in the repository until it ends, or ctx. Nothing that it has started runs afterwards.
func (r *Repository) run(ctx context.Context, c command) (string, error) {
	limits := []string{strconv.FormatInt(r.Memory>>10, 10), strconv.FormatInt((c.room+511)/512, 10)}
	cmd := exec.CommandContext(ctx, "sh", slices.Concat([]string{"-c", launch, "git"}, limits, []string{"git"}, c.args)...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, r.environment(c), c.stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	// A remote helper that survives git holds its output open.
	cmd.WaitDelay = endGrace
	var output tail
	stdout, stderr := &consumer{Writer: &output}, newErrorOutput()
	if c.stdout != nil {
		stdout.Writer = c.stdout
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Start()
	if file, ok := c.stdin.(*os.File); ok {
		_ = file.Close()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		// The context ended between two commands, and its cause is the reason.
		return "", r.explain(c, context.Cause(ctx), "", false)
	case err != nil:
		return "", fmt.Errorf("starting git: %w", err)
	}
	if r.onStart != nil {
		go r.onStart(cmd.Process.Pid)
	}
	err = cmd.Wait()
	endGroup(cmd.Process.Pid, err != nil)
	if c.page != nil {
		*c.page = stderr.page
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case stdout.err != nil:
		// git ends when its output is not read.
		err = stdout.err
	}
	if err != nil {
		return "", r.explain(c, err, stderr.String(), stderr.page)
	}
	return strings.TrimSuffix(output.String(), "\n"), nil
}

// explain returns the typed error of a command that failed.
func (r *Repository) explain(c command, err error, printed string, page bool) error {
	var typed *Error
	var exit *exec.ExitError
	switch {
	case errors.As(err, &typed):
		return typed
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("git %s: %w", c.args[0], err)
	case errors.Is(err, context.DeadlineExceeded):
		return wrap(ReasonTimedOut, printed, err)
	case !errors.As(err, &exit):
		return wrap(ReasonUnknown, printed, err)
	}
	reason := classify(printed)
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case reason == reasonNoRoom:
		reason = r.lacks(c.room)
	case page && !isLocal(reason):
		reason = ReasonWebPage
	case reason == ReasonUnknown && status.Signaled() && status.Signal() == syscall.SIGKILL:
		reason = ReasonMemory
	case reason == ReasonUnknown && c.protocols == "":
		// Commands without a server fail because of the files that they read.
		reason = reasonDamaged
	}
	return wrap(reason, printed, fmt.Errorf("git %s: %w", c.args[0], err))
}

// lacks returns the reason why a file cannot be written: the commit takes more than the room that it has, or the disk
// has less than that.
func (r *Repository) lacks(room int64) Reason {
	if free, err := disk.Free(r.Dir); room > 0 && err == nil && free >= room {
		return ReasonTooLarge
	}
	return ReasonStorageFull
}

// environment returns all variables of a command: nothing of this process but PATH.
func (r *Repository) environment(c command) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.path(homeDir), "LC_ALL=C",
		"GIT_DIR=" + r.path(repositoryDir),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
	}
	settings := slices.Clone(baseSettings)
	if c.protocols == "" {
		env = append(env, "GIT_ALLOW_PROTOCOL=none")
	} else {
		env = append(env, "GIT_ALLOW_PROTOCOL="+c.protocols, "GIT_TRACE_CURL=2", "GIT_TRACE_CURL_NO_DATA=1")
		env = append(env, r.remoteVariables()...)
		settings = append(settings, r.remoteSettings()...)
	}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.key))
		env = append(env, fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return append(append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))), c.env...)
}

// endGroup ends the processes of a group, and removes them from the process table if they are children of this process
// by now. It waits for them only after a failure.
func endGroup(group int, wait bool) {
	for deadline := time.Now().Add(endGrace); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Kill(-group, syscall.SIGKILL)
		for {
			if pid, err := syscall.Wait4(-group, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
		if err != nil || !wait || time.Now().After(deadline) {
			return
		}
	}
}

// consumer keeps the error of a writer.
type consumer struct {
	io.Writer
	err error
}

func (c *consumer) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// tail keeps the end of its input.
type tail struct{ bytes.Buffer }

func (t *tail) Write(data []byte) (int, error) {
	n, err := t.Buffer.Write(data)
	t.Next(max(0, t.Len()-maxPrinted))
	return n, err
}

// records calls a function for each part of its input that ends with a separator.
type records struct {
	separator byte
	each      func(record string) error
	rest      []byte
}

// maxRecord is more than any path has, or any name of a reference that a file system can hold.
const maxRecord = 1 << 20

func (r *records) Write(data []byte) (int, error) {
	size := len(data)
	for {
		record, rest, ended := bytes.Cut(data, []byte{r.separator})
		if r.rest = append(r.rest, record...); len(r.rest) > maxRecord {
			return 0, errors.New("git printed a record that is too long")
		}
		if !ended {
			return size, nil
		}
		if err := r.each(string(r.rest)); err != nil {
			return 0, err
		}
		r.rest, data = r.rest[:0], rest
	}
}
