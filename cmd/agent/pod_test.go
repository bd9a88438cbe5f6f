package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// podUID is the UID of each pod of these tests, and controllerKey signs requests to it.
const podUID = "3d9b1d5e-6d43-4b51-b3a5-4a1c3f0f4f43"

var controllerKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// pod is the agent in a PID namespace of its own, as in a container, which ends with all
// its processes.
type pod struct {
	t   *testing.T
	dir string
	// address serves /status, metrics serves /metrics.
	address, metrics string
	args             []string
	// published is the directory to publish.
	published string
	log       *os.File
	process   *exec.Cmd
}

// startPod starts an agent that polls a remote every 200 ms. Flags replace defaults of the
// same name.
func startPod(t *testing.T, r *remote, flags ...string) *pod {
	t.Helper()
	p := newPod(t, r, flags...)
	p.start()
	return p
}

func newPod(t *testing.T, r *remote, flags ...string) *pod {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give the agent a PID namespace")
	}
	p := &pod{t: t, dir: t.TempDir(), address: unusedAddress(), metrics: unusedAddress()}
	for _, name := range []string{"bin", "config", "volume"} {
		if err := os.Mkdir(p.path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.write("config/"+requests.KeysFile, requests.PublicKeysOf(controllerKey).String())
	log, err := os.Create(p.path("log"))
	if err != nil {
		t.Fatal(err)
	}
	p.log = log
	p.args = slices.Concat([]string{
		"run", "--repository=" + r.url, "--ref=HEAD", "--submodules=None", "--period=200ms", "--timeout=10s",
		"--root=" + p.path("volume/repository"), "--releases=" + p.path("volume/site"), "--volume=" + p.path("volume"),
		"--config=" + p.path("config"), "--listen=" + p.metrics, "--status-listen=" + p.address,
	}, flags)
	for _, flag := range flags {
		if path, found := strings.CutPrefix(flag, "--path="); found {
			p.published = path
		}
	}
	t.Cleanup(func() {
		p.kill()
		_ = log.Close()
		data, _ := os.ReadFile(log.Name())
		if bytes.Contains(data, []byte("DATA RACE")) {
			t.Error("the agent has a data race")
		}
		if t.Failed() {
			t.Logf("the agent logged:\n%s", data[max(0, len(data)-8000):])
		}
	})
	return p
}

func (p *pod) path(name string) string { return filepath.Join(p.dir, name) }

func (p *pod) write(name, content string) {
	p.t.Helper()
	path := p.path(name)
	if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o600), os.Rename(path+".new", path)); err != nil {
		p.t.Fatal(err)
	}
}

// start starts the agent, as the kubelet does after its end.
func (p *pod) start() {
	p.t.Helper()
	p.process = exec.Command("/proc/self/exe", p.args...)
	p.process.Env = []string{
		beAgent + "=1", "PATH=" + p.path("bin") + ":" + os.Getenv("PATH"), agent.PodUIDVariable + "=" + podUID,
	}
	p.process.Stdout, p.process.Stderr = p.log, p.log
	p.process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills all processes of the pod.
func (p *pod) kill() {
	if p.process != nil {
		_ = p.process.Process.Kill()
		_ = p.process.Wait()
	}
}

// page returns the page for visitors. nginx resolves the link to the current release for each file. Here it is read
// once, as both files must be of one release, and again if that release was replaced and removed in the meantime.
func (p *pod) page() (string, error) {
	for {
		link, err := os.Readlink(p.path(currentLink))
		if err != nil {
			return "", err
		}
		content, err := p.pageOf(link)
		if now, _ := os.Readlink(p.path(currentLink)); !errors.Is(err, fs.ErrNotExist) || now == link {
			return content, err
		}
	}
}

// currentLink is the link to the current release.
const currentLink = "volume/site/current"

// pageOf returns the page of the release that a link leads to.
func (p *pod) pageOf(link string) (string, error) {
	var content [2]string
	for i, name := range []string{"index.html", "large.txt"} {
		data, err := os.ReadFile(filepath.Join(p.path("volume/site"), link, p.published, name))
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

// visited calls a function while a visitor reads the page continuously. No visit may fail.
func (p *pod) visited(during func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	visits := 0
	var failed []error
	var visiting sync.WaitGroup
	visiting.Go(func() {
		for ; ctx.Err() == nil; visits++ {
			if _, err := p.page(); err != nil {
				failed = append(failed, err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	defer func() {
		p.t.Helper()
		cancel()
		visiting.Wait()
		if len(failed) > 0 || visits == 0 {
			p.t.Errorf("%d of %d visits failed: %v", len(failed), visits, errors.Join(failed[:min(1, len(failed))]...))
		}
	}()
	during()
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("not after half a minute: %s", what)
		}
	}
}

func (p *pod) shows(page string) {
	p.t.Helper()
	eventually(p.t, "the page is "+page, func() bool {
		got, err := p.page()
		return err == nil && got == page
	})
}

// showsNow fails the test unless a page is served at once.
func (p *pod) showsNow(page string) {
	p.t.Helper()
	if got, err := p.page(); err != nil || got != page {
		p.t.Errorf("the page is %q, %v, want %q", got, err, page)
	}
}

func (p *pod) status() (agent.Status, error) { return p.get(nil, "") }

// send sends a signed request, and returns the response.
func (p *pod) send(parameters url.Values) (agent.Status, error) {
	return p.get(parameters, requests.Sign(controllerKey, podUID, parameters, time.Now()))
}

func (p *pod) get(parameters url.Values, signature string) (status agent.Status, err error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+p.address+"/status?"+parameters.Encode(), nil)
	if err != nil {
		return status, err
	}
	if signature != "" {
		request.Header.Set(requests.Header, signature)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return status, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return status, errors.New(response.Status)
	}
	return status, json.NewDecoder(response.Body).Decode(&status)
}

// reports waits until the status has a reason, or none if that is empty.
func (p *pod) reports(want git.Reason) (status agent.Status) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("the reason in the status is %q", want), func() bool {
		var err error
		status, err = p.status()
		return err == nil && reasonOf(status) == want
	})
	return status
}

func reasonOf(status agent.Status) git.Reason {
	if status.Failure == nil {
		return ""
	}
	return status.Failure.Reason
}

func (p *pod) revision() (revision string) {
	p.t.Helper()
	eventually(p.t, "the agent answers", func() bool {
		status, err := p.status()
		revision = status.Revision
		return err == nil
	})
	return revision
}

// sync requests a fetch and waits for its end.
func (p *pod) sync(id string) agent.Status {
	p.t.Helper()
	status, err := p.synced(id, p.revision())
	if err != nil || status.Synced != id {
		p.t.Fatalf("after a request to sync the status is %+v, %v", status, err)
	}
	return status
}

// synced requests a fetch and returns the status at its end, or after two minutes, the longest timeout of these tests.
// A fetch can outlast the wait of one request; the agent takes an identifier that it knows for the same request.
func (p *pod) synced(id, after string) (status agent.Status, err error) {
	for begin := time.Now(); err == nil && status.Synced != id && time.Since(begin) < 2*time.Minute; {
		status, err = p.send(url.Values{
			requests.ParameterSync: {id}, requests.ParameterWait: {"30s"}, requests.ParameterAfter: {after},
		})
		after = status.Revision
	}
	return status, err
}

// pin requests a commit to be served, and waits for success or failure.
func (p *pod) pin(commit string, generation int) agent.Status {
	p.t.Helper()
	status, err := p.send(url.Values{
		requests.ParameterPin: {commit}, requests.ParameterGeneration: {strconv.Itoa(generation)},
		requests.ParameterWait: {"30s"}, requests.ParameterAfter: {p.revision()},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return status
}

// givePin writes a pin into the controller's file.
func (p *pod) givePin(pin requests.Pin) {
	p.t.Helper()
	p.write("config/"+requests.PinFile, pin.String())
}
