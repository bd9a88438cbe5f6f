package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

func newAgent(t *testing.T) *Agent {
	t.Helper()
	dir := t.TempDir()
	a := New(Config{
		GitSync:  &gitsync.Supervisor{Root: filepath.Join(dir, "root"), ErrorFile: filepath.Join(dir, "error"), Clock: clock.RealClock{}},
		Releases: &release.Store{Dir: filepath.Join(dir, "site"), Keep: 5, Published: "public"}, Link: "current", Clock: clock.RealClock{},
		ConfigDir: filepath.Join(dir, "config"), PodUID: testPod,
	})
	if err := errors.Join(os.Mkdir(a.ConfigDir, 0o755), os.WriteFile(filepath.Join(a.ConfigDir, requests.KeysFile), []byte(requests.PublicKeysOf(testKey).String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := a.Releases.Open(); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStatus(t *testing.T) {
	a := newAgent(t)
	commit := strings.Repeat("a", 40)
	if err := os.MkdirAll(filepath.Join(a.Releases.Path(commit), "public"), 0o755); err != nil {
		t.Fatal(err)
	}
	pointer := []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 5\n")
	if err := errors.Join(os.WriteFile(filepath.Join(a.Releases.Path(commit), "public", "photo.jpg"), pointer, 0o644), a.Releases.Switch(commit, time.Now())); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(a.GitSync.Root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	fetched := filepath.Join(a.GitSync.Root, ".git", "FETCH_HEAD")
	for name, content := range map[string]string{fetched: commit, a.GitSync.ErrorFile: `{"Err": "fatal: Authentication failed for 'https://secret@example.com'"}`} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.refresh(); err != nil {
		t.Fatal(err)
	}
	a.check(t.Context())
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		a.Handler("http://127.0.0.1:1/metrics").ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	w := get("/status")
	var status Status
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil {
		t.Fatal(err)
	}
	if status.Commit != commit || !status.PathFound || status.Path != "public" || len(status.Releases) != 1 || status.LastContact == nil || status.LFSPointers != 1 ||
		status.Failure == nil || status.Failure.Reason != gitsync.ReasonAuthentication {
		t.Errorf("the status is %s", w.Body)
	}
	if want := "fatal: Authentication failed for 'ADDRESS'"; status.Failure != nil && status.Failure.Text != want {
		t.Errorf("the text of the error is %q, want %q", status.Failure.Text, want)
	}
	if strings.Contains(w.Body.String(), "example.com") {
		t.Errorf("the status has the address of the repository: %s", w.Body)
	}
	// git empties the file when a fetch begins.
	if err := os.WriteFile(fetched, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if contact := a.Status().LastContact; contact == nil || !contact.Equal(*status.LastContact) {
		t.Errorf("during the next fetch the last contact is %v, want %v", contact, status.LastContact)
	}
	if w := get("/metrics"); !strings.Contains(w.Body.String(), "website_agent_releases 1\n") || strings.Contains(w.Body.String(), "website_agent_last_contact_timestamp_seconds 0.000\n") {
		t.Errorf("without git-sync the metrics are %s", w.Body)
	}
	public := httptest.NewRecorder()
	a.MetricsHandler("http://127.0.0.1:1/metrics").ServeHTTP(public, httptest.NewRequest(http.MethodGet, "/status", nil))
	if public.Code != http.StatusNotFound {
		t.Errorf("GET /status where metrics are: %d", public.Code)
	}
	if w := get("/"); w.Code != http.StatusNotFound {
		t.Errorf("GET /: %d", w.Code)
	}
}

// TestFailuresAreCounted: one failure may be over with the next sync, and a file that has not
// changed is no further one.
func TestFailuresAreCounted(t *testing.T) {
	begin := time.Unix(1e9, 0)
	var f *Failure
	for i, step := range []struct {
		reason gitsync.Reason
		at     time.Duration
		want   int
	}{
		{gitsync.ReasonTimedOut, 0, 1},
		{gitsync.ReasonTimedOut, 0, 1},
		{gitsync.ReasonTimedOut, time.Minute, 2},
		{gitsync.ReasonNotFound, 2 * time.Minute, 3},
		{gitsync.ReasonNone, 3 * time.Minute, 0},
		{gitsync.ReasonNotFound, 4 * time.Minute, 1},
	} {
		f = f.next(step.reason, begin.Add(step.at), "text")
		if got := f; (got == nil) != (step.want == 0) || got != nil && (got.Count != step.want || got.Reason != step.reason) {
			t.Errorf("step %d: %+v, want %q, %d", i, got, step.reason, step.want)
		}
	}
}

// TestSilentGitSync: a git-sync that has neither fetched nor failed for longer than that
// takes is a failure, whatever keeps it.
func TestSilentGitSync(t *testing.T) {
	a, now := newAgent(t), testingclock.NewFakeClock(time.Now())
	a.GitSync.Command, a.GitSync.Clock = []string{"sleep", "600"}, now
	a.GitSync.Period, a.GitSync.Timeout = time.Minute, 2*time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.GitSync.Run(ctx) }()
	for begin := time.Now(); !a.GitSync.Counts().Running; time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("git-sync was not started")
		}
	}
	now.Step(3 * time.Minute)
	if failure := a.Status().Failure; failure != nil {
		t.Errorf("after a period and a timeout: %+v", failure)
	}
	now.Step(10 * time.Second)
	if failure := a.Status().Failure; failure == nil || failure.Reason != gitsync.ReasonTimedOut {
		t.Errorf("ten seconds later: %+v, want %s", failure, gitsync.ReasonTimedOut)
	}
	cancel()
	<-ended
}

// TestFullVolume: the container says why it has ended, where the kubelet reads it.
func TestFullVolume(t *testing.T) {
	for name, test := range map[string]struct {
		budget int64
		want   string
	}{"full": {1, "StorageFull"}, "not full": {1 << 30, ""}, "unlimited": {0, ""}} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t)
			a.Releases.Volume, a.Releases.Budget = a.Releases.Dir, test.budget
			a.TerminationLog = filepath.Join(t.TempDir(), "termination-log")
			if err := os.WriteFile(filepath.Join(a.Releases.Dir, "content"), make([]byte, 8192), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := a.sayWhyEnded(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(a.TerminationLog); err == nil {
				t.Error("it has made a file where there was none")
			}
			if err := os.WriteFile(a.TerminationLog, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := a.sayWhyEnded(); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(a.TerminationLog); err != nil || string(got) != test.want {
				t.Errorf("it says %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestServeLimits: connections that say nothing do not hold the port for long.
func TestServeLimits(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, address, newAgent(t).Handler("")) }()
	silent := 0
	for begin := time.Now(); silent < 2*maxConnections && time.Since(begin) < 30*time.Second; {
		if conn, err := net.Dial("tcp", address); err == nil {
			silent++
			defer func() { _ = conn.Close() }()
		}
	}
	client := &http.Client{Timeout: 10 * serveTimeout}
	response, err := client.Get("http://" + address + "/status")
	if err != nil {
		t.Fatalf("after %d connections that say nothing: %v", silent, err)
	}
	_ = response.Body.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestInstall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "website-agent")
	for range 2 {
		if err := Install(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command(path, "-test.run=^$").Run(); err != nil {
		t.Errorf("the copy does not run: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("there are %v, %v", entries, err)
	}
}
