package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
)

// flakyRemote serves a remote over HTTP until a test has it do something else.
type flakyRemote struct {
	address string
	good    http.Handler
	// ended is closed at the end of the test, for handlers that do not end before.
	ended chan struct{}

	mu     sync.Mutex
	fault  fault
	server *http.Server
}

// fault answers a request in place of a handler.
type fault func(w http.ResponseWriter, r *http.Request, good http.Handler, ended <-chan struct{})

func startFlakyRemote(t *testing.T, r *remote) *flakyRemote {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(r.dir, ".git"), filepath.Join(dir, "site.git")); err != nil {
		t.Fatal(err)
	}
	good, err := gitserver.NewHandler(gitserver.Options{Dir: dir, CredentialsFile: writeFile(t, "nobody:none")})
	if err != nil {
		t.Fatal(err)
	}
	f := &flakyRemote{address: "127.0.0.1:0", good: good, ended: make(chan struct{})}
	f.start(t)
	t.Cleanup(func() { close(f.ended); f.stop(t) })
	return f
}

func (f *flakyRemote) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		t.Fatal(err)
	}
	f.address, f.server = listener.Addr().String(), &http.Server{Handler: f}
	server := f.server
	go func() { _ = server.Serve(listener) }()
}

func (f *flakyRemote) stop(t *testing.T) {
	t.Helper()
	if err := f.server.Close(); err != nil {
		t.Error(err)
	}
}

func (f *flakyRemote) set(fault fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *flakyRemote) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	fault := f.fault
	f.mu.Unlock()
	if fault == nil {
		f.good.ServeHTTP(w, r)
		return
	}
	fault(w, r, f.good, f.ended)
}

func answers(code int, contentType, body string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ <-chan struct{}) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// packed answers all but the request for the objects, which the fault answers.
func packed(what fault) fault {
	return func(w http.ResponseWriter, r *http.Request, good http.Handler, ended <-chan struct{}) {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !bytes.Contains(body, []byte("command=fetch")) {
			good.ServeHTTP(w, r)
			return
		}
		what(w, r, good, ended)
	}
}

// paced writes at a rate, and after some bytes nothing more.
type paced struct {
	http.ResponseWriter
	perSecond, most int
	written         int
	ended           <-chan struct{}
}

func (p *paced) Write(data []byte) (int, error) {
	for part := range slices.Chunk(data, p.perSecond/20) {
		if p.most > 0 && p.written+len(part) > p.most {
			<-p.ended
			return 0, errors.New("stalled")
		}
		n, err := p.ResponseWriter.Write(part)
		p.written += n
		if err != nil {
			return p.written, err
		}
		_ = http.NewResponseController(p.ResponseWriter).Flush()
		time.Sleep(time.Second / 20)
	}
	return len(data), nil
}

func pace(perSecond, most int) fault {
	return func(w http.ResponseWriter, r *http.Request, good http.Handler, ended <-chan struct{}) {
		good.ServeHTTP(&paced{ResponseWriter: w, perSecond: perSecond, most: most, ended: ended}, r)
	}
}

// redirects leads to the same repository at another path, or without end.
func redirects(endless bool) fault {
	return func(w http.ResponseWriter, r *http.Request, good http.Handler, _ <-chan struct{}) {
		if path, moved := strings.CutPrefix(r.URL.Path, "/moved"); moved && !endless {
			r.URL.Path = path
			good.ServeHTTP(w, r)
			return
		}
		http.Redirect(w, r, "/moved"+r.URL.RequestURI(), http.StatusFound)
	}
}

// endless never ends its answer, and sends a megabyte per second.
func endless(w http.ResponseWriter, r *http.Request, _ http.Handler, ended <-chan struct{}) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	_, _ = io.WriteString(w, "001e# service=git-upload-pack\n0000")
	line := "fff0" + strings.Repeat("x", 0xfff0-4)
	for {
		select {
		case <-ended:
			return
		case <-r.Context().Done():
			return
		case <-time.After(time.Second / 16):
		}
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}

// TestRemotes has a remote misbehave after the first commit: that stays published, the reason
// is in the status, and the next commit is published once the remote is well. docs/pod.md has
// a table of these.
func TestRemotes(t *testing.T) {
	t.Parallel()
	const advertisement = "application/x-git-upload-pack-advertisement"
	for name, test := range map[string]struct {
		fault fault
		// refuses is true if no connection is accepted.
		refuses bool
		// timeout limits a sync. The default is ten seconds.
		timeout string
		// want are the reasons that the status may have. Without any, the commit is published.
		want []gitsync.Reason
	}{
		"refused":                    {refuses: true, want: []gitsync.Reason{gitsync.ReasonUnreachable}},
		"silent":                     {fault: func(_ http.ResponseWriter, _ *http.Request, _ http.Handler, ended <-chan struct{}) { <-ended }, timeout: "2s", want: []gitsync.Reason{gitsync.ReasonTimedOut}},
		"stalled within a transfer":  {fault: packed(pace(1<<20, 100<<10)), timeout: "2s", want: []gitsync.Reason{gitsync.ReasonTimedOut}},
		"slow, 300 kB/s":             {fault: pace(300_000, 0)},
		"too slow for its time":      {fault: packed(pace(100_000, 0)), timeout: "2s", want: []gitsync.Reason{gitsync.ReasonTimedOut}},
		"redirected":                 {fault: redirects(false)},
		"redirected without end":     {fault: redirects(true), want: []gitsync.Reason{gitsync.ReasonUnreachable}},
		"status 500":                 {fault: answers(http.StatusInternalServerError, "text/plain", "failed"), want: []gitsync.Reason{gitsync.ReasonUnreachable}},
		"a page of a proxy":          {fault: answers(http.StatusOK, "text/html", "<html>log in</html>"), want: []gitsync.Reason{gitsync.ReasonRefNotFound}},
		"hostile: no protocol":       {fault: answers(http.StatusOK, advertisement, strings.Repeat("\x00\xff", 1<<16)), want: []gitsync.Reason{gitsync.ReasonUnreachable, gitsync.ReasonUnknown}},
		"hostile: an endless answer": {fault: endless, timeout: "3s", want: []gitsync.Reason{gitsync.ReasonTimedOut, gitsync.ReasonUnknown}},
		"hostile: damaged objects": {fault: packed(answers(http.StatusOK, "application/x-git-upload-pack-result", "000dpackfile\n0015\x01PACK\x00\x00\x00\x02\x00\x00\x00\x05x0000")),
			want: []gitsync.Reason{gitsync.ReasonUnreachable, gitsync.ReasonUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			f := startFlakyRemote(t, r)
			var flags []string
			if test.timeout != "" {
				// git-sync writes over the error with the next sync.
				flags = []string{"--sync-timeout=" + test.timeout, "--period=1500ms"}
			}
			p := startPod(t, r, slices.Concat(flags, []string{"--", "--repo=http://" + f.address + "/site.git"}, flags)...)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			p.push("one")
			p.shows("one")
			running.Go(func() { p.visit(ctx) })

			f.set(test.fault)
			if test.refuses {
				f.stop(t)
			}
			// It takes a second at 300 kB/s.
			if err := os.WriteFile(filepath.Join(r.dir, "random.bin"), randomBytes(300_000), 0o600); err != nil {
				t.Fatal(err)
			}
			r.git("add", "random.bin")
			p.push("two")
			if len(test.want) == 0 {
				p.shows("two")
			} else {
				var seen string
				eventually(t, fmt.Sprintf("the reason is one of %q", test.want), func() bool {
					status, err := p.status()
					if err != nil || status.Failure == nil {
						return false
					}
					seen = string(status.Failure.Reason)
					return slices.Contains(test.want, status.Failure.Reason) && status.Failure.Count >= 1
				})
				data, _ := os.ReadFile(p.path("error.json"))
				t.Logf("reported as %s: %.600s", seen, data)
				p.shows("one")
			}

			if test.refuses {
				f.start(t)
			}
			f.set(nil)
			p.push("three")
			p.shows("three")
			eventually(t, "the failure is gone from the status", func() bool {
				status, err := p.status()
				return err == nil && status.Failure == nil
			})
			cancel()
			running.Wait()
			if len(p.errs) > 0 {
				t.Errorf("%d of %d visits failed: %v", len(p.errs), p.visits, p.errs[0])
			}
		})
	}
}

// randomBytes cannot be compressed.
func randomBytes(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.Read(data)
	return data
}
