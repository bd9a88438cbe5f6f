package podprobe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

const (
	// testTimeout is generous: tests share the machine.
	testTimeout = 2 * time.Minute
	longTime    = time.Hour
)

// replica is an agent that fetches on request.
type replica struct {
	pod     *cached.Pod
	url     string
	handler http.Handler
	site    string
	// holds receives the beginning of each request that asks it to hold a release.
	holds chan struct{}
	// gate is closed while the agent may fetch.
	mu   sync.Mutex
	gate chan struct{}
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command(
		"git", append([]string{"-C", dir, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...,
	)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

// commitFile commits a file with some content, and returns the commit.
func commitFile(t *testing.T, repository, content string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(repository, "index.html"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	runGit(t, repository, "add", ".")
	runGit(t, repository, "commit", "-q", "-m", content)
	return runGit(t, repository, "rev-parse", "HEAD")
}

// serveGit serves a repository to replicas. Each replica waits for its gate.
func serveGit(t *testing.T, repository string, replicas map[string]*replica) *httptest.Server {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	git := &cgi.Handler{
		Path: path, Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + repository, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
		r := replicas[name]
		r.mu.Lock()
		gate := r.gate
		r.mu.Unlock()
		select {
		case <-gate:
		case <-request.Context().Done():
			return
		}
		request.URL.Path = "/" + rest
		git.ServeHTTP(w, request)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

// bufferedWriter keeps the body of a response.
type bufferedWriter struct {
	http.ResponseWriter
	bytes.Buffer
}

func (w *bufferedWriter) Write(data []byte) (int, error) { return w.Buffer.Write(data) }
func (w *bufferedWriter) Unwrap() http.ResponseWriter    { return w.ResponseWriter }

// newReplica returns a replica that is not started.
func newReplica(name string) *replica {
	r := &replica{pod: newPod(name), holds: make(chan struct{}, 1000), gate: make(chan struct{})}
	close(r.gate)
	r.pod.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return r
}

// start starts the agent. It fetches at its start and on request; with polls, it always reports an
// imminent sync.
func (r *replica) start(t *testing.T, repository string, polls bool, hold time.Duration) {
	t.Helper()
	dir := t.TempDir()
	r.site = filepath.Join(dir, "site")
	if err := os.WriteFile(filepath.Join(dir, requests.KeysFile), []byte(requests.PublicKeysOf(signingKey).String()),
		0o600); err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{
		Git: git.Options{
			Dir: filepath.Join(dir, "git"), URL: repository, Submodules: git.SubmodulesNone, Timeout: longTime,
		},
		Ref: "HEAD", Period: longTime, Releases: &release.Store{Dir: r.site, Keep: 5},
		MaxHold: hold, Clock: clock.RealClock{}, ConfigDir: dir, PodUID: string(r.pod.UID),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.handler = a.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		if query.Has(requests.ParameterHold) && query.Get(requests.ParameterAfter) == a.Status().Revision {
			r.holds <- struct{}{}
		}
		if !polls || request.URL.Path != "/status" {
			r.handler.ServeHTTP(w, request)
			return
		}
		answer := &bufferedWriter{ResponseWriter: w}
		r.handler.ServeHTTP(answer, request)
		var status agent.Status
		if err := json.Unmarshal(answer.Bytes(), &status); err == nil {
			status.NextSyncMilliseconds = new(int64)
			_ = json.NewEncoder(w).Encode(status)
		}
	}))
	r.url = server.URL
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.CloseClientConnections()
		server.Close()
	})
}

// sync makes the agent fetch.
func (r *replica) sync(t *testing.T, id string) {
	t.Helper()
	parameters := url.Values{requests.ParameterSync: {id}}
	request := httptest.NewRequest(http.MethodGet, "/status?"+parameters.Encode(), nil)
	request.Header.Set(requests.Header, requests.Sign(signingKey, string(r.pod.UID), parameters, time.Now()))
	recorder := httptest.NewRecorder()
	r.handler.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d", recorder.Code)
	}
}

// current returns the commit that a replica serves.
func (r *replica) current() string {
	return (&release.Store{Dir: r.site}).Current()
}

// setGate closes or opens the gate of the agent's fetches.
func (r *replica) setGate(closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if closed {
		r.gate = make(chan struct{})
	} else {
		close(r.gate)
	}
}

// preparedAt returns the time at which the assets of a release were complete, its last preparation,
// and switchedAt the time of its publication.
func (r *replica) preparedAt(commit string) (time.Time, error) {
	info, err := os.Lstat(filepath.Join(r.site, "assets", commit))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (r *replica) switchedAt() (time.Time, error) {
	info, err := os.Lstat(filepath.Join(r.site, "current"))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > testTimeout {
			t.Fatalf("not within %v: %s", testTimeout, what)
		}
	}
}

// followed has three replicas that follow a repository, and their prober.
type followed struct {
	*Prober
	repository string
	replicas   []*replica
}

// startFollowed starts replicas with an observed commit, which hold releases for some time. Only the
// first one reports an imminent sync.
func startFollowed(t *testing.T, hold time.Duration) *followed {
	t.Helper()
	f := &followed{repository: t.TempDir()}
	runGit(t, f.repository, "init", "-q")
	first := commitFile(t, f.repository, "first")
	byName, urls := map[string]*replica{}, map[string]string{}
	server := serveGit(t, filepath.Dir(f.repository), byName)
	for _, name := range []string{"a", "b", "c"} {
		byName[name] = newReplica(name)
	}
	for name, r := range byName {
		r.start(t, server.URL+"/"+name+"/"+filepath.Base(f.repository)+"/.git", name == "a", hold)
		urls[name] = r.url
		f.replicas = append(f.replicas, r)
	}
	slices.SortFunc(f.replicas, func(r, other *replica) int { return strings.Compare(r.pod.Name, other.pod.Name) })
	f.Prober = New(Config{Period: time.Minute, Clock: clock.RealClock{}, Workers: 2, Share: 2, Sign: signAs(signingKey),
		Client: &httpClient{
			client: directClient(), timeout: testTimeout,
			url: func(pod *cached.Pod, request Request) string {
				return urls[pod.Name] + request.Path + "?" + request.Query.Encode()
			},
		}})
	f.maxHold = longTime
	waitFor(t, "all serve the first commit", func() bool {
		return !slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.current() != first })
	})
	start(t, f.Prober)
	for _, r := range f.replicas {
		f.Probe(testWebsite, r.pod)
	}
	f.waitKnown(t, first)
	return f
}

// waitKnown waits until all replicas are observed to serve a commit.
func (f *followed) waitKnown(t *testing.T, commit string) {
	t.Helper()
	waitFor(t, "all are known to serve the commit", func() bool {
		return !slices.ContainsFunc(f.replicas, func(r *replica) bool {
			seen, ok := f.Observation(r.pod.UID)
			return !ok || seen.Commit != commit
		})
	})
}

// syncFirst makes the first replica sync while a waiting request asks it to hold a release.
func (f *followed) syncFirst(t *testing.T) {
	t.Helper()
	first := f.replicas[0]
	for len(first.holds) > 0 {
		<-first.holds
	}
	select {
	case <-first.holds:
	case <-time.After(testTimeout):
		t.Fatal("no request waits for the first replica")
	}
	first.sync(t, fmt.Sprint("first-", time.Now().UnixNano()))
}

// attempts is the number of tries of a test: a replica on a slow machine can miss the hold.
const attempts = 5

// TestReplicasSwitchTogether: when one replica has fetched a commit, the others fetch it too,
// and no replica serves it before all have prepared it.
func TestReplicasSwitchTogether(t *testing.T) {
	t.Parallel()
	f := startFollowed(t, longTime)
	for attempt := range attempts {
		commit := commitFile(t, f.repository, fmt.Sprint("attempt ", attempt))
		f.syncFirst(t)
		f.waitKnown(t, commit)
		if switchedTogether(t, f.replicas, commit) {
			return
		}
	}
	t.Errorf("in none of %d attempts did all replicas prepare the commit before one served it", attempts)
}

// TestPushBetweenTwoFetches: a replica with a commit that the others never had gives it up for the
// commit of the others.
func TestPushBetweenTwoFetches(t *testing.T) {
	t.Parallel()
	f := startFollowed(t, longTime)
	for attempt := range attempts {
		for _, r := range f.replicas[1:] {
			r.setGate(true)
		}
		earlier := commitFile(t, f.repository, fmt.Sprint("attempt ", attempt))
		f.syncFirst(t)
		waitFor(t, "the first replica has prepared the commit", func() bool {
			_, err := f.replicas[0].preparedAt(earlier)
			return err == nil
		})
		later := commitFile(t, f.repository, fmt.Sprint("later than attempt ", attempt))
		for _, r := range f.replicas[1:] {
			r.setGate(false)
		}
		served := false
		waitFor(t, "all serve the later commit", func() bool {
			served = served || f.replicas[0].current() == earlier
			return !slices.ContainsFunc(f.replicas, func(r *replica) bool { return r.current() != later })
		})
		if together := switchedTogether(t, f.replicas, later); together && !served {
			return
		}
		f.waitKnown(t, later)
	}
	t.Errorf("in none of %d attempts did all replicas prepare the later commit before one served it, or the earlier one",
		attempts)
}

// switchedTogether reports whether all replicas had prepared a commit before one served it.
func switchedTogether(t *testing.T, replicas []*replica, commit string) bool {
	t.Helper()
	var lastPrepared, firstSwitched, lastSwitched time.Time
	for _, r := range replicas {
		prepared, err := r.preparedAt(commit)
		switched, switchErr := r.switchedAt()
		if err := errors.Join(err, switchErr); err != nil {
			t.Fatal(err)
		}
		if prepared.After(lastPrepared) {
			lastPrepared = prepared
		}
		if firstSwitched.IsZero() || switched.Before(firstSwitched) {
			firstSwitched = switched
		}
		if switched.After(lastSwitched) {
			lastSwitched = switched
		}
	}
	t.Logf("%d replicas switched within %v, %v after the last had prepared the release",
		len(replicas), lastSwitched.Sub(firstSwitched), firstSwitched.Sub(lastPrepared))
	return !firstSwitched.Before(lastPrepared)
}
