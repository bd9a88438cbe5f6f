package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// gitSyncVariable names the real git-sync, for the tests of the agent to run with that in
// the place of the stand-in.
const gitSyncVariable = "GIT_SYNC"

// agentDir is where agentProgram is, if it was built. TestMain removes it.
var agentDir string

// agentProgram builds the agent, once.
var agentProgram = sync.OnceValues(func() (_ string, err error) {
	if agentDir, err = os.MkdirTemp("", "agent"); err != nil {
		return "", err
	}
	out := filepath.Join(agentDir, "website-agent")
	build := exec.Command("go", "build", "-o", out, "github.com/kubesites/website-apiserver/cmd/agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the agent: %w: %s", err, output)
	}
	return out, nil
})

// pod is the agent in a PID namespace of its own, as in a container, and a visitor of what
// it publishes.
type pod struct {
	t      *testing.T
	dir    string
	remote *remote
	// program and args are those of the agent.
	program string
	args    []string
	log     *os.File
	address string
	// bin is a directory in front of PATH, and env are further variables.
	bin string
	env []string

	process *exec.Cmd

	mu     sync.Mutex
	pages  map[string]bool
	visits int
	errs   []error
}

// startPod starts an agent that follows a remote, every 200 ms. The flags are those of
// git-sync, after those of the agent and "--" if there are any.
func startPod(t *testing.T, r *remote, flags ...string) *pod {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give the agent a PID namespace")
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("no unshare on PATH: install the package util-linux")
	}
	program, err := agentProgram()
	if err != nil {
		t.Fatal(err)
	}
	gitSync := os.Getenv(gitSyncVariable)
	if gitSync == "" {
		if gitSync, err = os.Executable(); err != nil {
			t.Fatal(err)
		}
	}
	p := &pod{t: t, dir: t.TempDir(), remote: r, program: program, pages: map[string]bool{}}
	p.bin = filepath.Join(p.dir, "bin")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	if err := errors.Join(listener.Close(), os.Mkdir(p.bin, 0o755), os.Mkdir(p.path("config"), 0o755),
		os.WriteFile(filepath.Join(p.path("config"), requests.KeysFile), []byte(requests.PublicKeysOf(controllerKey).String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	if p.log, err = os.Create(filepath.Join(p.dir, "log")); err != nil {
		t.Fatal(err)
	}
	own := []string(nil)
	if i := slices.Index(flags, "--"); i >= 0 {
		own, flags = flags[:i], flags[i+1:]
	}
	p.args = slices.Concat([]string{
		"run", "--root=" + p.path("root"), "--releases=" + p.path("site"), "--volume=" + p.dir, "--error-file=" + p.path("error.json"),
		"--status-listen=" + p.address, "--period=200ms", "--sync-timeout=10s", "--config=" + p.path("config"),
	}, own, []string{
		"--", gitSync,
		"--repo=file://" + r.dir, "--root=" + p.path("root"), "--link=current", "--submodules=off", "--error-file=" + p.path("error.json"),
		"--period=200ms", "--init-period=200ms", "--sync-timeout=10s", "--max-failures=-1", "--sync-on-signal=SIGHUP",
	}, flags)
	p.start()
	t.Cleanup(func() {
		p.kill()
		if data, _ := os.ReadFile(p.log.Name()); t.Failed() {
			t.Logf("the agent logged:\n%s", data[max(0, len(data)-8000):])
		}
	})
	return p
}

func (p *pod) path(name string) string { return filepath.Join(p.dir, name) }

// start starts the agent, as the kubelet does after its end.
func (p *pod) start() {
	p.t.Helper()
	p.process = exec.Command("unshare", append([]string{"--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL", p.program}, p.args...)...)
	p.process.Env = append(os.Environ(), beStandIn+"=1", "HOME="+p.dir, "PATH="+p.bin+":"+os.Getenv("PATH"), agent.PodUIDVariable+"="+podUID)
	p.process.Env = append(p.process.Env, p.env...)
	p.process.Stdout, p.process.Stderr = p.log, p.log
	p.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills all processes of the pod, as the end of the first one of a container does. That is the child
// of unshare, which may not have asked yet to be killed with it.
func (p *pod) kill() {
	_ = syscall.Kill(-p.process.Process.Pid, syscall.SIGKILL)
	_ = p.process.Wait()
}

// keep starts the agent again whenever it ends, until ctx ends.
func (p *pod) keep(ctx context.Context) {
	for ctx.Err() == nil {
		ended := p.process
		done := make(chan struct{})
		go func() { _ = ended.Wait(); close(done) }()
		select {
		case <-ctx.Done():
			_ = ended.Process.Kill()
			<-done
			return
		case <-done:
			p.start()
		}
	}
}

// page is what a visitor sees, by way of the link that nginx follows.
func (p *pod) page() (string, error) {
	var content [2]string
	link, err := os.Readlink(p.path("site/current"))
	if err != nil {
		return "", err
	}
	for i, name := range []string{"index.html", "large.txt"} {
		data, err := os.ReadFile(filepath.Join(p.path("site"), link, name))
		if err != nil {
			return "", err
		}
		content[i] = string(data)
	}
	if content[1] != large(content[0]) {
		return "", fmt.Errorf("the page is of %q, and the other file is not", content[0])
	}
	return content[0], nil
}

// large is another file of the release of a page.
func large(page string) string { return strings.Repeat(page+"\n", 10000) }

// visit reads the page over and over until ctx ends.
func (p *pod) visit(ctx context.Context) {
	for ctx.Err() == nil {
		page, err := p.page()
		p.mu.Lock()
		if p.visits++; err != nil {
			p.errs = append(p.errs, err)
		}
		p.pages[page] = true
		p.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
}

// push commits a page.
func (p *pod) push(page string) (commit string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.remote.dir, "large.txt"), []byte(large(page)), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.remote.git("add", "large.txt")
	return p.remote.commit(page)
}

func (p *pod) shows(page string) {
	p.t.Helper()
	eventually(p.t, "the page is "+page, func() bool {
		got, err := p.page()
		return err == nil && got == page
	})
}

func (p *pod) status() (status agent.Status, err error) {
	response, err := http.Get("http://" + p.address + "/status")
	if err != nil {
		return status, err
	}
	defer func() { _ = response.Body.Close() }()
	return status, json.NewDecoder(response.Body).Decode(&status)
}

// wrapGit puts a git in front of the real one that does something the first time that it is
// run with a subcommand.
func (p *pod) wrapGit(subcommand, action string) {
	p.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		p.t.Fatal(err)
	}
	script := fmt.Sprintf(`#!/bin/sh
case " $* " in *" %s "*) if [ -e %[2]s/armed ] && mkdir %[2]s/done 2>/dev/null; then
%[3]s
fi ;; esac
exec %[4]s "$@"
`, subcommand, p.bin, action, git)
	if err := os.WriteFile(filepath.Join(p.bin, "git"), []byte(script), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// arm lets the action of wrapGit happen, and fired waits for it.
func (p *pod) arm() {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.bin, "armed"), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pod) fired() {
	p.t.Helper()
	eventually(p.t, "git was run", func() bool {
		_, err := os.Stat(filepath.Join(p.bin, "done"))
		return err == nil
	})
}

// TestKillMatrix kills each process at each step of a sync, and leaves the files that this
// leaves: what is published stays published, and the next commit is.
func TestKillMatrix(t *testing.T) {
	t.Parallel()
	victims := map[string]string{
		"git":              "kill -9 $$",
		"git, locked":      "touch .git/shallow.lock .git/index.lock; kill -9 $$",
		"git-sync":         "kill -9 $PPID; sleep 1",
		"git-sync, linked": "ln -s nowhere ROOT/tmp-link; kill -9 $PPID; sleep 1",
		"agent":            "kill -9 1",
	}
	for _, step := range []string{"fetch", "fsck", "worktree", "reset", "ls-tree"} {
		for victim, action := range victims {
			if step == "ls-tree" && strings.HasPrefix(victim, "git-sync") {
				continue // its parent is the agent
			}
			t.Run(step+", "+victim, func(t *testing.T) {
				t.Parallel()
				p := startPod(t, newRemote(t))
				p.wrapGit(step, strings.ReplaceAll(action, "ROOT", p.path("root")))
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { p.keep(ctx) })
				defer running.Wait()
				defer cancel()
				p.push("one")
				p.shows("one")
				running.Go(func() { p.visit(ctx) })
				p.arm()
				p.push("two")
				p.fired()
				p.push("three")
				p.shows("three")
				cancel()
				running.Wait()
				if len(p.errs) > 0 {
					t.Errorf("%d of %d visits failed: %v", len(p.errs), p.visits, p.errs[0])
				}
			})
		}
	}
}

// TestWipedRoot removes all that git-sync has.
func TestWipedRoot(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t))
	p.push("one")
	p.shows("one")
	if err := os.Rename(p.remote.dir, p.remote.dir+".away"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(p.path("root"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		// git may write there meanwhile.
		eventually(t, entry.Name()+" is removed", func() bool { return os.RemoveAll(filepath.Join(p.path("root"), entry.Name())) == nil })
	}
	eventually(t, "the failure is in the status", func() bool {
		status, err := p.status()
		return err == nil && status.Failure != nil && status.Failure.Reason == gitsync.ReasonNotFound
	})
	p.shows("one")
	if err := os.Rename(p.remote.dir+".away", p.remote.dir); err != nil {
		t.Fatal(err)
	}
	p.push("two")
	p.shows("two")
	eventually(t, "the failure is gone from the status", func() bool {
		status, err := p.status()
		return err == nil && status.Failure == nil && status.LastContact != nil && len(status.Releases) == 2
	})
}

// TestSilentServer accepts connections and says nothing: git-sync hangs for as long as it
// likes, unless the agent ends what git has left behind.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
	}()
	p := startPod(t, newRemote(t), "--sync-timeout=1s", "--", "--repo=http://"+listener.Addr().String()+"/site.git", "--sync-timeout=1s")
	eventually(t, "the reason is in the status", func() bool {
		status, err := p.status()
		return err == nil && status.Failure != nil && status.Failure.Reason == gitsync.ReasonTimedOut
	})
	eventually(t, "git-sync has tried again", func() bool {
		status, err := p.status()
		return err == nil && status.Counts.EndedProcesses >= 2
	})
	if status, err := p.status(); err != nil || status.Counts.GitSyncRestarts > 0 {
		t.Errorf("%+v, %v: git-sync need not be restarted", status, err)
	}
}

// TestSignals passes on the signal to sync at once, and ends everything when asked to.
func TestSignals(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t), "--period=1h")
	p.push("one")
	p.shows("one")
	p.push("two")
	agentPID := p.child()
	eventually(t, "a signal has it sync", func() bool {
		_ = syscall.Kill(agentPID, syscall.SIGHUP)
		page, err := p.page()
		return err == nil && page == "two"
	})
	if err := syscall.Kill(agentPID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.process.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
}

// child is the agent, below unshare.
func (p *pod) child() int {
	p.t.Helper()
	pid := 0
	eventually(p.t, "the agent runs", func() bool {
		pid = childOf(p.process.Process.Pid)
		return pid != 0
	})
	return pid
}

// childOf is a child of a process, or 0. Each thread has its own.
func childOf(pid int) (child int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		if data, err := os.ReadFile(list); err == nil {
			if _, err := fmt.Sscan(string(data), &child); err == nil {
				return child
			}
		}
	}
	return 0
}

// TestKilledOften kills git-sync between syncs.
func TestKilledOften(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t))
	p.push("one")
	p.shows("one")
	for range 3 {
		before, err := p.status()
		if err != nil {
			t.Fatal(err)
		}
		p.killGitSync()
		eventually(t, "git-sync is restarted", func() bool {
			status, err := p.status()
			return err == nil && status.Counts.GitSyncRestarts > before.Counts.GitSyncRestarts
		})
	}
	p.push("two")
	p.shows("two")
	if left, err := filepath.Glob(p.path("root/tmp-*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
	// A fetch has one for a moment.
	eventually(t, "no lock is left", func() bool {
		_, err := os.Stat(p.path("root/.git/shallow.lock"))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// killGitSync kills the child of the agent.
func (p *pod) killGitSync() {
	p.t.Helper()
	pid := 0
	eventually(p.t, "git-sync runs", func() bool {
		pid = childOf(p.child())
		return pid != 0
	})
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}
