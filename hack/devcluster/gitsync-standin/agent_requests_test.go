package main

import (
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
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// podUID is that of each pod of these tests, and controllerKey signs requests to it.
const podUID = "3d9b1d5e-6d43-4b51-b3a5-4a1c3f0f4f43"

var controllerKey = func() requests.PrivateKey {
	key, err := requests.NewPrivateKey()
	if err != nil {
		panic(err)
	}
	return key
}()

// seldom has git-sync poll once a day.
var seldom = []string{"--period=24h", "--", "--period=24h"}

// ask sends a signed request, and returns the answer.
func (p *pod) ask(parameters url.Values) (status agent.Status, err error) {
	request, err := http.NewRequest(http.MethodGet, "http://"+p.address+"/status?"+parameters.Encode(), nil)
	if err != nil {
		return status, err
	}
	signature, err := requests.Sign(controllerKey, podUID, parameters, time.Now())
	if err != nil {
		return status, err
	}
	request.Header.Set(requests.Header, signature)
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

// sync asks for a fetch and waits for its end.
func (p *pod) sync(id string) agent.Status {
	p.t.Helper()
	status, err := p.ask(url.Values{requests.ParameterSync: {id}, requests.ParameterWait: {"30s"}, requests.ParameterAfter: {p.revision()}})
	if err != nil || status.Synced != id {
		p.t.Fatalf("after a request to sync the status is %+v, %v", status, err)
	}
	return status
}

// pin asks for a commit to be served, and waits until it is or cannot be.
func (p *pod) pin(commit string, generation int) agent.Status {
	p.t.Helper()
	status, err := p.ask(url.Values{
		requests.ParameterPin: {commit}, requests.ParameterGeneration: {strconv.Itoa(generation)},
		requests.ParameterWait: {"30s"}, requests.ParameterAfter: {p.revision()},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return status
}

func (p *pod) revision() string {
	p.t.Helper()
	status, err := p.status()
	if err != nil {
		p.t.Fatal(err)
	}
	return status.Revision
}

// givePin has the controller's file say what to serve.
func (p *pod) givePin(pin requests.Pin) {
	p.t.Helper()
	path := filepath.Join(p.path("config"), requests.PinFile)
	if err := errors.Join(os.WriteFile(path+".new", []byte(pin.String()), 0o600), os.Rename(path+".new", path)); err != nil {
		p.t.Fatal(err)
	}
}

// fetches returns how often git has fetched.
func (p *pod) fetches() int {
	data, _ := os.ReadFile(p.path("fetches"))
	return strings.Count(string(data), "\n")
}

// countFetches puts a git in front of the real one that counts fetches, and that does not end
// one while there is a gate: it has read from the remote by then.
func (p *pod) countFetches() {
	p.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		p.t.Fatal(err)
	}
	script := fmt.Sprintf(`#!/bin/sh
case " $* " in *" fetch "*)
  %[1]s "$@"; result=$?
  echo >> %[2]s/fetches
  if [ -e %[2]s/gate ]; then
    while [ -e %[2]s/gate ]; do sleep 0.01; done
    touch %[2]s/root/.git/FETCH_HEAD
  fi
  exit $result ;;
esac
exec %[1]s "$@"
`, git, p.dir)
	if err := os.WriteFile(filepath.Join(p.bin, "git"), []byte(script), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// TestSyncNow: a commit that was pushed before a request to sync is served when that is
// answered, although git-sync polls once a day.
func TestSyncNow(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t), seldom...)
	p.countFetches()
	p.push("one")
	p.shows("one")
	before := p.fetches()
	for _, page := range []string{"two", "three"} {
		commit := p.push(page)
		status := p.sync("sync-" + page)
		if got, err := p.page(); err != nil || got != page || status.Commit != commit || status.Newest != commit {
			t.Errorf("after the answer %q is served, %v; the status is %+v", got, err, status)
		}
		if status.Subject != page || status.Author != "t" {
			t.Errorf("the commit is %q by %q", status.Subject, status.Author)
		}
	}
	if got := p.fetches() - before; got != 2 {
		t.Errorf("%d fetches, want 2", got)
	}
	// A request that is repeated, or finds nothing new.
	p.sync("sync-three")
	if got := p.fetches() - before; got != 2 {
		t.Errorf("%d fetches after a request was repeated, want 2", got)
	}
	p.sync("sync-nothing")
	if got := p.fetches() - before; got != 3 {
		t.Errorf("%d fetches after another request, want 3", got)
	}
}

// TestWithoutPolling: the first fetch is repeated until it succeeds, and then the repository is fetched only at requests,
// also after one that has failed.
func TestWithoutPolling(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	p := startPod(t, r, "--period=0s", "--", "--period=2147483647s")
	p.countFetches()
	eventually(t, "the first fetch is repeated", func() bool { return p.fetches() > 1 })
	p.push("one")
	p.shows("one")
	before := p.fetches()
	p.push("two")
	if status, err := p.status(); err != nil || status.NextSyncMilliseconds == nil || *status.NextSyncMilliseconds < (24*time.Hour).Milliseconds() {
		t.Errorf("the next sync is %+v, %v", status, err)
	}
	if err := os.Rename(r.dir, r.dir+".away"); err != nil {
		t.Fatal(err)
	}
	if status := p.sync("fails"); status.Failure == nil {
		t.Errorf("after a fetch that has failed the status is %+v", status)
	}
	if err := os.Rename(r.dir+".away", r.dir); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if page, err := p.page(); page != "one" || err != nil || p.fetches() != before+1 {
		t.Errorf("%d fetches more, %q is served, %v", p.fetches()-before, page, err)
	}
	if status := p.sync("succeeds"); status.Failure != nil {
		t.Errorf("after a fetch that has succeeded the status is %+v", status)
	}
	p.shows("two")
}

// TestSyncFlood: more requests than a few cost a fetch every five seconds.
func TestSyncFlood(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t), seldom...)
	p.countFetches()
	p.push("one")
	p.shows("one")
	before, begin := p.fetches(), time.Now()
	for i := range 200 {
		if _, err := p.ask(url.Values{requests.ParameterSync: {"sync-" + strconv.Itoa(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	p.sync("sync-last")
	if got, most := p.fetches()-before, 4+int(time.Since(begin)/(5*time.Second)); got > most {
		t.Errorf("%d fetches in %v, want at most %d", got, time.Since(begin), most)
	}
}

// TestSyncDuringFetch: a fetch that began before a push does not answer a request that was
// made after it.
func TestSyncDuringFetch(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t), seldom...)
	p.countFetches()
	p.push("one")
	p.shows("one")
	if err := os.WriteFile(p.path("gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := p.fetches()
	answers := make(chan error, 1)
	go func() {
		_, err := p.ask(url.Values{requests.ParameterSync: {"first"}, requests.ParameterWait: {"30s"}, requests.ParameterAfter: {"another"}})
		answers <- err
	}()
	eventually(t, "a fetch is running", func() bool { return p.fetches() > before })
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	p.push("two")
	ended := make(chan agent.Status, 1)
	go func() {
		var status agent.Status
		for status.Synced != "second" {
			var err error
			if status, err = p.ask(url.Values{requests.ParameterSync: {"second"}, requests.ParameterWait: {"30s"}, requests.ParameterAfter: {status.Revision}}); err != nil {
				break
			}
		}
		ended <- status
	}()
	select {
	case status := <-ended:
		t.Errorf("answered with %+v while a fetch of before is running", status)
	case <-time.After(500 * time.Millisecond):
	}
	if err := os.Remove(p.path("gate")); err != nil {
		t.Fatal(err)
	}
	status := <-ended
	if got, err := p.page(); err != nil || got != "two" || status.Synced != "second" {
		t.Errorf("after the answer %q is served, %v; the status is %+v", got, err, status)
	}
}

// TestSyncFails: a request to sync is answered when the fetch fails, with the reason.
func TestSyncFails(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t), seldom...)
	p.push("one")
	p.shows("one")
	if err := os.Rename(p.remote.dir, p.remote.dir+".away"); err != nil {
		t.Fatal(err)
	}
	status := p.sync("sync")
	if status.Failure == nil || status.Failure.Reason != gitsync.ReasonNotFound {
		t.Errorf("the status is %+v", status)
	}
	p.shows("one")
	if err := os.Rename(p.remote.dir+".away", p.remote.dir); err != nil {
		t.Fatal(err)
	}
	p.push("two")
	if status := p.sync("again"); status.Failure != nil {
		t.Errorf("the status is %+v", status)
	}
	p.shows("two")
}

// TestSyncTag: an annotated tag is another object than the commit that is served.
func TestSyncTag(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	p := startPod(t, r, append(slices.Clone(seldom), "--ref=refs/tags/v1")...)
	p.push("one")
	r.git("tag", "-a", "-m", "v1", "v1")
	p.shows("one")
	p.push("two")
	r.git("tag", "-f", "-a", "-m", "v1", "v1")
	p.sync("sync")
	if got, err := p.page(); err != nil || got != "two" {
		t.Errorf("after the answer %q is served, %v", got, err)
	}
}

// TestPin: a commit that is on the disk is served at once, whatever is pushed, and so is the
// last one after that. A restart changes nothing.
func TestPin(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t))
	one := p.push("one")
	p.shows("one")
	p.push("two")
	p.shows("two")
	begin := time.Now()
	if status := p.pin(one, 2); status.Commit != one || status.Pin == nil || status.Pin.Commit != one || status.Pin.Generation != 2 {
		t.Errorf("the status is %+v", status)
	}
	t.Logf("serving a commit of before took %v", time.Since(begin))
	p.shows("one")
	three := p.push("three")
	eventually(t, "the last commit is prepared", func() bool {
		status, err := p.status()
		return err == nil && status.Newest == three && slices.Contains(status.Releases, three) && status.Commit == one
	})
	p.kill()
	p.start()
	eventually(t, "the agent runs again", func() bool { _, err := p.status(); return err == nil })
	four := p.push("four")
	eventually(t, "the last commit is prepared", func() bool {
		status, err := p.status()
		return err == nil && status.Newest == four && slices.Contains(status.Releases, four)
	})
	p.shows("one")
	// An older request, or file, changes nothing.
	p.pin("", 1)
	p.givePin(requests.Pin{Generation: 1})
	p.push("five")
	eventually(t, "the last commit is fetched", func() bool {
		status, err := p.status()
		return err == nil && status.Newest != four && len(status.Releases) > 1
	})
	p.shows("one")
	begin = time.Now()
	if status := p.pin("", 3); status.Commit != status.Newest {
		t.Errorf("the status is %+v", status)
	}
	t.Logf("serving the last commit took %v", time.Since(begin))
	p.shows("five")
	p.push("six")
	p.shows("six")
}

// TestPinnedStart: a new pod serves the commit of its file, which git-sync does not have, and
// never another one.
func TestPinnedStart(t *testing.T) {
	t.Parallel()
	p := startPod(t, newRemote(t))
	p.kill()
	one := p.push("one")
	two := p.push("two")
	p.givePin(requests.Pin{Commit: one, Generation: 5})
	p.start()
	p.shows("one")
	eventually(t, "the last commit is prepared", func() bool {
		status, err := p.status()
		return err == nil && status.Newest == two && slices.Contains(status.Releases, two)
	})
	status, err := p.status()
	if err != nil || status.Commit != one || status.Subject != "one" || status.Failure != nil {
		t.Errorf("the status is %+v, %v", status, err)
	}
	eventually(t, "what the commit was fetched with is removed", func() bool {
		_, err := os.Stat(p.path("pin"))
		return errors.Is(err, fs.ErrNotExist)
	})
	// The pinned commit stays, however many others are made.
	for i := range 7 {
		commit := p.push(fmt.Sprint("more ", i))
		eventually(t, "the last commit is prepared", func() bool {
			status, err := p.status()
			return err == nil && status.Newest == commit && slices.Contains(status.Releases, commit)
		})
	}
	if status, err := p.status(); err != nil || status.Commit != one || len(status.Releases) != 2 {
		t.Errorf("the status is %+v, %v", status, err)
	}
	p.givePin(requests.Pin{Generation: 6})
	p.shows("more 6")
	// A store that was restored has an earlier generation.
	p.givePin(requests.Pin{Commit: two, Generation: 2})
	p.shows("two")
}

// TestPinFails: a commit that the server does not send is reported, and what is served stays.
func TestPinFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// old has the client speak a protocol in which the server sends only what a ref names.
		old  bool
		want gitsync.Reason
	}{
		"an unknown commit": {false, gitsync.ReasonCommitRefused},
		"a refusing server": {true, gitsync.ReasonCommitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPod(t, newRemote(t))
			p.kill()
			p.countFetches()
			wanted := p.push("one")
			if test.old {
				p.remote.git("config", "--unset", "uploadpack.allowAnySHA1InWant")
				p.env = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.version", "GIT_CONFIG_VALUE_0=0"}
			} else {
				wanted = strings.Repeat("d", 40)
			}
			p.push("two")
			p.start()
			p.shows("two")
			status := p.pin(wanted, 1)
			if status.Pin == nil || status.Pin.Failure == nil || status.Pin.Failure.Reason != test.want || status.Failure == nil || status.Failure.Reason != test.want {
				t.Errorf("the status is %+v", status)
			}
			p.shows("two")
			p.push("three")
			eventually(t, "the last commit is prepared", func() bool {
				status, err := p.status()
				return err == nil && len(status.Releases) == 2
			})
			p.shows("two")
			if status := p.pin("", 2); status.Pin.Failure != nil || status.Failure != nil {
				t.Errorf("the status is %+v", status)
			}
			p.shows("three")
		})
	}
}
