package agent

import (
	"context"
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

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
)

// TestStatus: the status has the reason of a failed fetch, without addresses, while the served release stays.
func TestStatus(t *testing.T) {
	a, r := startAgent(t)
	a.serves(t, "a")
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	r.mu.Lock()
	r.err = &git.Error{Reason: git.ReasonAuthentication, Text: "fatal: Authentication failed for 'ADDRESS'"}
	r.mu.Unlock()
	before := a.Status()
	after := a.ask(t, "sync", "1", "wait", long)
	if after.Commit != commit("a") || !after.PathFound || after.Failure == nil ||
		after.Failure.Reason != git.ReasonAuthentication || after.Failure.Count != 1 ||
		after.Failure.Text == "" || after.LastContact == nil || !after.LastContact.Equal(*before.LastContact) ||
		len(after.Releases) != 1 {
		t.Errorf("the status is %+v", after)
	}
	if body := get("/status").Body.String(); strings.Contains(body, "example.com") {
		t.Errorf("the status has the address of the repository: %s", body)
	}
	for _, want := range []string{
		"website_agent_releases 1\n", "website_agent_fetches_total{result=\"success\"} 1\n",
		"website_agent_fetches_total{result=\"error\"} 1\n", "website_agent_fetch_duration_seconds_count 2\n",
	} {
		if body := get("/metrics").Body.String(); !strings.Contains(body, want) ||
			strings.Contains(body, "contact_timestamp_seconds 0.000\n") {
			t.Errorf("the metrics are %s, want %q", body, want)
		}
	}
	public := httptest.NewRecorder()
	a.MetricsHandler().ServeHTTP(public, httptest.NewRequest(http.MethodGet, "/status", nil))
	if public.Code != http.StatusNotFound {
		t.Errorf("GET /status where metrics are: %d", public.Code)
	}
	if w := get("/"); w.Code != http.StatusNotFound {
		t.Errorf("GET /: %d", w.Code)
	}
}

// TestFullVolume: the container says why it has ended, where the kubelet reads it.
func TestFullVolume(t *testing.T) {
	for name, test := range map[string]struct {
		budget int64
		want   string
	}{"full": {1, "StorageFull"}, "not full": {1 << 30, ""}, "unlimited": {0, ""}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a := newAgent(Config{Clock: clock.RealClock{}, Releases: &release.Store{Dir: dir, Volume: dir, Budget: test.budget}})
			a.TerminationLog = filepath.Join(t.TempDir(), "termination-log")
			if err := os.WriteFile(filepath.Join(a.Releases.Dir, "content"), make([]byte, 8192), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := a.explainEnd(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(a.TerminationLog); err == nil {
				t.Error("it has made a file where there was none")
			}
			if err := os.WriteFile(a.TerminationLog, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := a.explainEnd(); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(a.TerminationLog); err != nil || string(got) != test.want {
				t.Errorf("it says %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestServeLimits: connections without a request are closed in time.
func TestServeLimits(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	a, _ := startAgent(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, address, a.Handler()) }()
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
