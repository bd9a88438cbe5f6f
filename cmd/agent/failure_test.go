package main

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
)

// timeout is the time of a fetch from a silent server. Fetches from others have enough, also beside other tests.
const timeout = 5 * time.Second

// TestSilentServer: a server that accepts connections without a response is reported, and polled at growing
// intervals. A commit on the disk can be served meanwhile.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	one := r.push("one")
	p := startPod(t, r, "--timeout="+timeout.String())
	p.shows("one")
	r.push("two")
	p.shows("two")
	p.visited(func() {
		r.set(silent)
		status := p.reports(git.ReasonTimedOut)
		eventually(t, "the server is asked again", func() bool {
			before := status.Failure.Count
			status = p.reports(git.ReasonTimedOut)
			return status.Failure.Count > before
		})
		former := r.fetches()
		eventually(t, "a fetch is running", func() bool { return r.fetches() > former })
		before, begin := r.fetches(), time.Now()
		if status := p.pin(one, 2); status.Commit != one {
			t.Errorf("the status is %+v", status)
		}
		p.showsNow("one")
		if took := time.Since(begin); took > timeout/2 {
			t.Errorf("serving a commit of before took %s", took)
		} else {
			t.Logf("serving a commit of before took %s", took)
		}
		if got := r.fetches() - before; got > 0 {
			t.Errorf("%d fetches for a commit that is on the disk", got)
		}
		r.set(nil)
		r.push("three")
		if status := p.sync("repaired"); status.Failure != nil {
			t.Errorf("the status is %+v", status)
		}
		p.pin("", 3)
		p.showsNow("three")
	})
}

// TestSilentStart: the first fetch has a timeout as well.
func TestSilentStart(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	r.set(silent)
	p := startPod(t, r, "--timeout="+timeout.String())
	p.reports(git.ReasonTimedOut)
	r.set(nil)
	p.shows("one")
}

// TestRemoteFails: the first commit stays published, the status has the reason, and the next commit is published once
// the remote is repaired. pkg/agent/git has a table of remotes.
func TestRemoteFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault fault
		want  git.Reason
	}{
		"status 500":       {answersWith(http.StatusInternalServerError, "X: y", "failed"), git.ReasonUnreachable},
		"a page of a host": {answersWith(http.StatusOK, "Content-Type: text/html", "<html>log in</html>"), git.ReasonWebPage},
		"no repository":    {notFound, git.ReasonNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			r.push("one")
			p := startPod(t, r)
			p.shows("one")
			p.visited(func() {
				r.set(test.fault)
				r.push("two")
				status := p.reports(test.want)
				eventually(t, "failures are counted", func() bool {
					now, err := p.status()
					return err == nil && reasonOf(now) == test.want && now.Failure.Count > status.Failure.Count &&
						now.Failure.Since.After(status.Failure.Since)
				})
				p.showsNow("one")
				text := p.readMetrics()
				for _, result := range []string{"success", "error"} {
					counted := regexp.MustCompile(`(?m)^website_agent_fetches_total\{result="` + result + `"\} [1-9]`)
					if !counted.MatchString(text) {
						t.Errorf("no fetches with the result %s are counted:\n%s", result, text)
					}
				}
				r.set(nil)
				if status := p.sync("repaired"); status.Failure != nil {
					t.Errorf("the status is %+v", status)
				}
				p.showsNow("two")
			})
		})
	}
}

func (p *pod) readMetrics() string {
	p.t.Helper()
	response, err := http.Get("http://" + p.metrics + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// TestCredentialsChange changes the files of a Secret below a running agent.
func TestCredentialsChange(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	ca := r.overTLS()
	r.require("reader", "secret")
	r.push("one")
	p := newPod(t, r)
	p.args = append(p.args, "--username-file="+p.path("username"), "--password-file="+p.path("password"),
		"--credential-scope=Repository", "--ca-file="+p.path("ca"))
	p.write("ca", ca)
	p.write("username", "reader\n")
	p.write("password", "secret")
	p.start()
	p.shows("one")
	for _, test := range []struct{ file, content, right string }{
		{"username", "nobody", "reader"}, {"password", "another", "new secret"},
	} {
		p.write(test.file, test.content)
		p.reports(git.ReasonAuthentication)
		if test.file == "password" {
			r.require("reader", test.right)
		}
		r.push(test.right)
		p.write(test.file, test.right)
		if status := p.sync(test.file); status.Failure != nil {
			t.Errorf("the status is %+v", status)
		}
		p.showsNow(test.right)
	}
}

// TestPathRemoved pushes a commit without the published path: it is reported, and the previous release stays until a
// commit has the path again.
func TestPathRemoved(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("none")
	p := startPod(t, r, "--path=public")
	if status := p.reports(git.ReasonPathNotFound); status.PathFound {
		t.Errorf("the status is %+v", status)
	}
	if page, err := p.page(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the page is %q, %v, want none", page, err)
	}
	one := r.pushBelow("public/", "one")
	if status := p.sync("one"); status.Failure != nil || !status.PathFound || status.Commit != one {
		t.Errorf("the status is %+v", status)
	}
	p.showsNow("one")
	p.visited(func() {
		r.push("two")
		if status := p.reports(git.ReasonPathNotFound); status.PathFound || status.Commit != one {
			t.Errorf("the status is %+v", status)
		}
		p.showsNow("one")
		// Another agent does not publish it either.
		p.kill()
		p.start()
		p.reports(git.ReasonPathNotFound)
		p.showsNow("one")
		r.run("update-ref", "refs/heads/main", one)
		if status := p.sync("back"); status.Failure != nil || !status.PathFound {
			t.Errorf("the status is %+v", status)
		}
		p.showsNow("one")
		r.pushBelow("public/", "three")
		p.shows("three")
	})
}

// TestObjectFormat follows a repository that is replaced by one with another object format.
func TestObjectFormat(t *testing.T) {
	t.Parallel()
	for format, other := range map[string]string{"sha1": "sha256", "sha256": "sha1"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r, replacement := newRemoteOf(t, format), newRemoteOf(t, other)
			r.push("one")
			p := startPod(t, r)
			p.shows("one")
			p.visited(func() {
				r.push("two")
				p.shows("two")
				replacement.push("three")
				r.set(func(w http.ResponseWriter, request *http.Request, _ http.Handler) {
					replacement.git.ServeHTTP(w, request)
				})
				p.shows("three")
				replacement.push("four")
				p.shows("four")
				p.reports("")
			})
		})
	}
}
