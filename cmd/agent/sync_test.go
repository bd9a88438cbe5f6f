package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// seldom makes the agent poll once a day.
const seldom = "--period=24h"

// TestSyncNow: a commit that was pushed before a request to sync is served when that is answered, although the agent
// polls once a day.
func TestSyncNow(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	p := startPod(t, r, seldom)
	p.shows("one")
	before := r.fetches()
	for _, page := range []string{"two", "three"} {
		commit := r.push(page)
		status := p.sync("sync-" + page)
		p.showsNow(page)
		if status.Commit != commit || status.Newest != commit || status.Subject != page || status.Author != "t" {
			t.Errorf("after the answer the status is %+v", status)
		}
	}
	if got := r.fetches() - before; got != 2 {
		t.Errorf("%d fetches, want 2", got)
	}
	// The request is repeated, or finds no change.
	p.sync("sync-three")
	if got := r.fetches() - before; got != 2 {
		t.Errorf("%d fetches after a request was repeated, want 2", got)
	}
	p.sync("sync-nothing")
	if got := r.fetches() - before; got != 3 {
		t.Errorf("%d fetches after another request, want 3", got)
	}
}

// TestFirstFetchIsRetried: a repository that is created after its Website is published long before
// the next period.
func TestFirstFetchIsRetried(t *testing.T) {
	t.Parallel()
	for _, period := range []string{"1h", "0s"} {
		t.Run(period, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			p := startPod(t, r, "--period="+period)
			p.reports(git.ReasonEmpty)
			r.push("one")
			p.shows("one")
			p.reports("")
		})
	}
}

// TestWithoutPolling: the repository is fetched only on request, also after a failed request.
func TestWithoutPolling(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	p := startPod(t, r, "--period=0s")
	p.shows("one")
	before := r.fetches()
	r.push("two")
	status, err := p.status()
	if next := status.NextSyncMilliseconds; err != nil || next != nil && *next < (24*time.Hour).Milliseconds() {
		t.Errorf("the next sync is %+v, %v", status, err)
	}
	r.set(notFound)
	if status := p.sync("fails"); reasonOf(status) != git.ReasonNotFound {
		t.Errorf("after a fetch that has failed the status is %+v", status)
	}
	after := r.fetches()
	r.set(nil)
	time.Sleep(2 * time.Second)
	p.showsNow("one")
	if after == before || r.fetches() != after {
		t.Errorf("%d fetches at the request, %d after it", after-before, r.fetches()-after)
	}
	if status := p.sync("succeeds"); status.Failure != nil {
		t.Errorf("after a fetch that has succeeded the status is %+v", status)
	}
	p.showsNow("two")
}

// TestSyncFlood: a burst of requests causes a fetch every five seconds at most.
func TestSyncFlood(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	p := startPod(t, r, seldom)
	p.shows("one")
	before, begin := r.fetches(), time.Now()
	for i := range 200 {
		if _, err := p.send(url.Values{requests.ParameterSync: {"sync-" + strconv.Itoa(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	p.sync("sync-last")
	if got, most := r.fetches()-before, 4+int(time.Since(begin)/(5*time.Second)); got > most {
		t.Errorf("%d fetches in %v, want at most %d", got, time.Since(begin), most)
	}
}

// TestSyncDuringFetch: a fetch that began before a push does not complete a later request.
func TestSyncDuringFetch(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	p := startPod(t, r, seldom)
	p.shows("one")
	began, end := r.hold()
	if _, err := p.send(url.Values{requests.ParameterSync: {"first"}}); err != nil {
		t.Fatal(err)
	}
	<-began
	r.push("two")
	ended := make(chan agent.Status, 1)
	go func() {
		status, err := p.synced("second", "")
		if err != nil {
			t.Error(err)
		}
		ended <- status
	}()
	select {
	case status := <-ended:
		t.Errorf("answered with %+v while a fetch of before is running", status)
	case <-time.After(500 * time.Millisecond):
	}
	end()
	status := <-ended
	p.showsNow("two")
	if status.Synced != "second" {
		t.Errorf("after the answer the status is %+v", status)
	}
}

// TestSyncFails: a request to sync is answered with the reason when the fetch fails, and a former
// failure does not delay it.
func TestSyncFails(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	p := startPod(t, r, seldom)
	p.shows("one")
	r.set(notFound)
	if status := p.sync("sync"); reasonOf(status) != git.ReasonNotFound || status.Failure.Count != 1 {
		t.Errorf("the status is %+v", status)
	}
	p.showsNow("one")
	r.set(nil)
	r.push("two")
	if status := p.sync("again"); status.Failure != nil {
		t.Errorf("the status is %+v", status)
	}
	p.showsNow("two")
}

// TestSyncTag: an annotated tag is another object than the served commit.
func TestSyncTag(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	tag := func() { r.run("tag", "--force", "--annotate", "--message=v1", "v1", "main") }
	r.push("one")
	tag()
	p := startPod(t, r, seldom, "--ref=refs/tags/v1")
	p.shows("one")
	commit := r.push("two")
	tag()
	if status := p.sync("sync"); status.Commit != commit || status.Newest != commit {
		t.Errorf("the status is %+v", status)
	}
	p.showsNow("two")
}

// TestCommit: a commit by its hash cannot change, so it is fetched once. Hashes of a SHA-256
// repository are longer.
func TestCommit(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := newRemoteOf(t, format)
			first := r.push("one")
			second := r.push("two")
			p := startPod(t, r, "--ref="+first)
			p.shows("one")
			before := r.fetches()
			time.Sleep(time.Second)
			if got := r.fetches() - before; got > 0 {
				t.Errorf("fetched %d times more", got)
			}
			if status := p.sync("sync"); status.Failure != nil || status.Commit != first {
				t.Errorf("after a request to sync the status is %+v", status)
			}
			if status := p.pin(second, 1); status.Commit != second {
				t.Errorf("pinned to %s, the pod serves %s", second, status.Commit)
			}
			p.showsNow("two")
			p.pin("", 2)
			p.showsNow("one")
		})
	}
}

// TestThrottlingHost: a host that responds with too many requests is polled at growing intervals, a request to sync
// is not delayed by that, and the next commit is published.
func TestThrottlingHost(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{
		"too many requests": http.StatusTooManyRequests, "unavailable": http.StatusServiceUnavailable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			const period = time.Second
			r.push("one")
			p := startPod(t, r, "--period="+period.String())
			p.shows("one")
			var polls atomic.Int32
			refuses := answersWith(code, "Retry-After: 60", "slow down")
			r.set(func(w http.ResponseWriter, request *http.Request, git http.Handler) {
				polls.Add(1)
				refuses(w, request, git)
			})
			eventually(t, "the host is polled later", func() bool {
				status, err := p.status()
				return err == nil && status.NextSyncMilliseconds != nil &&
					*status.NextSyncMilliseconds > (5*period/2).Milliseconds()
			})
			if got := polls.Load(); got > 4 {
				t.Errorf("%d polls, want fewer", got)
			}
			if status := p.sync("refused"); reasonOf(status) != git.ReasonUnreachable {
				t.Errorf("the status is %+v", status)
			}
			r.set(nil)
			r.push("two")
			if next := p.sync("accepted").NextSyncMilliseconds; next == nil || *next > (3*period/2).Milliseconds() {
				t.Errorf("the host is polled again after %d milliseconds, want the period", ptr.Deref(next, -1))
			}
			p.showsNow("two")
			r.push("three")
			p.shows("three")
		})
	}
}

// TestNewPodKeepsAssets: the first release of a pod has the hashed files of the commits before it, and is served
// without them if the server does not send them.
func TestNewPodKeepsAssets(t *testing.T) {
	t.Parallel()
	deep := func(w http.ResponseWriter, request *http.Request, git http.Handler) {
		body, err := io.ReadAll(request.Body)
		if err == nil && bytes.Contains(body, []byte("deepen 5")) {
			http.Error(w, "failed", http.StatusInternalServerError)
			return
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		git.ServeHTTP(w, request)
	}
	for name, test := range map[string]struct {
		fault fault
		want  int
	}{"sent": {nil, 4}, "not sent": {deep, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			var commit string
			for i := range 7 {
				commit = r.push(fmt.Sprint(i), files{fmt.Sprintf("app.%df2a91bc.js", i): "x", "app.js": "x"})
			}
			r.set(test.fault)
			p := startPod(t, r)
			p.shows("6")
			kept, err := filepath.Glob(p.path("volume/site/assets/" + commit + "/*"))
			if err != nil || len(kept) != test.want {
				t.Errorf("%q are kept, %v, want %d files", kept, err, test.want)
			}
		})
	}
}
