package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// A larger log is renamed at the next start.
const maxLogSize = 20 << 20

// Start starts the process unless it runs, and does not wait until it is ready. It
// fails with a *PortInUseError if another process has one of its ports.
func (p *Process) Start(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	if p.Running() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("starting %s: %w", p.spec.name, context.Cause(ctx))
	}
	for _, port := range p.spec.ports {
		if err := checkPort(port.use, port.number); err != nil {
			return err
		}
	}
	r := &run{over: make(chan struct{}), record: record{Name: p.spec.name, Argv: p.argv(), LogFile: p.LogFile(),
		Started: time.Now()}}
	log, err := openLog(r.record.LogFile, r.record.Argv)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.spec.name, err)
	}
	defer func() { _ = log.Close() }()
	if r.record.LogOffset, err = log.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.spec.name, err)
	}
	if err := p.launch(r, log); err != nil {
		return fmt.Errorf("starting %s: %w", p.spec.name, err)
	}
	p.mu.Lock()
	p.now = r
	p.mu.Unlock()
	return nil
}

// launch starts the program and records it.
func (p *Process) launch(r *run, log *os.File) error {
	cmd := exec.Command(r.record.Argv[0], r.record.Argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = p.layout.dir
	cmd.Env = append(componentEnv(p.layout), p.spec.env...)
	// Pdeathsig fails in another PID namespace: the child cannot see its parent, which Go
	// takes for the parent's death. It ends with the first process of the node instead.
	cmd.SysProcAttr = startAttributes(p.detached || p.spec.within != nil)
	if p.spec.isolated {
		node.Isolate(cmd.SysProcAttr)
	}

	started := make(chan error)
	go func() {
		// On Linux the kernel kills a child that is tied to its parent when the parent's
		// THREAD that started it ends. This goroutine keeps its thread until the child
		// has ended; the thread then ends with the goroutine.
		runtime.LockOSThread()
		err := p.enter()
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		r.exit = Exit{Code: cmd.ProcessState.ExitCode(), Text: cmd.ProcessState.String()}
		if err != nil && cmd.ProcessState.Success() {
			r.exit.Text = err.Error()
		}
		close(r.over)
	}()
	if err := <-started; err != nil {
		return err
	}
	r.record.PID = cmd.Process.Pid
	if err := r.record.save(p.layout); err != nil {
		// Without a record, no command would stop it.
		_ = cmd.Process.Kill()
		<-r.over
		return err
	}
	return nil
}

// enter moves the calling thread, which is used for nothing else, to the namespaces of
// the process.
func (p *Process) enter() error {
	if p.spec.within == nil {
		return nil
	}
	pid := p.spec.within()
	if pid == 0 {
		return errors.New("the node it runs in has ended")
	}
	return node.Enter(pid)
}

// componentEnv excludes the caller's variables and home directory: ETCD_*, KUBECONFIG or
// HTTPS_PROXY would affect components.
func componentEnv(l layout) []string {
	env := []string{"HOME=" + l.home()}
	for _, name := range []string{
		"PATH", "TMPDIR", "TZ", "LANG", "GODEBUG", "GOGC", "GOCOVERDIR", "GORACE", "GOTRACEBACK",
	} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// openLog opens a log for appending and marks the start of a new run in it.
func openLog(path string, argv []string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogSize {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(file, "---- %s devcluster starts: %s\n", time.Now().UTC().Format(time.RFC3339),
		strings.Join(argv, " "))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
