package resources

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubesites/website-apiserver/pkg/agent/traffic"
)

// TestTraffic: the agent counts the requests of visitors, and no probes; the access log is JSON on request, with the
// address that a trusted proxy names.
func TestTraffic(t *testing.T) {
	logs := t.TempDir()
	if err := os.Chmod(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	access, requests := filepath.Join(logs, "access"), filepath.Join(logs, "requests")
	if err := traffic.Create(requests); err != nil {
		t.Fatal(err)
	}
	counter, err := traffic.Open(requests)
	if err != nil {
		t.Fatal(err)
	}
	s := startNginxWith(t, func(p *nginxParameters) {
		p.AccessLog, p.AccessLogJSON, p.RequestsLog = access, true, requests
		p.TrustedProxies = []string{"unix:", "10.0.0.0/8"}
	})
	s.write(commitA, "index.html", "home")
	s.publish("releases/" + commitA)
	for path, forwarded := range map[string]string{
		"/":        "203.0.113.7",
		"/%22x%5c": "203.0.113.8, 10.1.2.3",
		"/missing": "198.51.100.1, 203.0.113.9",
	} {
		s.get(s.http, path, "X-Forwarded-For", forwarded, "User-Agent", `a "browser" é`)
	}
	s.want(s.admin, "/readyz", http.StatusOK, "ok\n")

	metrics := ""
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 10*time.Second, true,
		func(context.Context) (bool, error) {
			var text strings.Builder
			err := counter.WriteMetrics(&text)
			metrics = text.String()
			return strings.Contains(metrics, "duration_seconds_count 3\n"), err
		}); err != nil {
		t.Fatalf("%v:\n%s", err, metrics)
	}
	for _, want := range []string{`code="2xx"} 1`, `code="4xx"} 2`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s:\n%s", want, metrics)
		}
	}

	content, err := os.ReadFile(access)
	if err != nil {
		t.Fatal(err)
	}
	clients := map[string]int{}
	for line := range strings.Lines(string(content)) {
		var entry struct {
			Time, Client, UserAgent, Commit string
			Status, Bytes                   int
			Duration                        float64
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		clients[entry.Client] = entry.Status
		if entry.UserAgent != `a "browser" é` || entry.Commit != commitA {
			t.Errorf("the line %s", line)
		}
	}
	// 203.0.113.9 is not a trusted proxy, so its header is ignored.
	want := map[string]int{"203.0.113.7": 200, "203.0.113.8": 404, "203.0.113.9": 404}
	if len(clients) != len(want) {
		t.Errorf("clients %v, want %v", clients, want)
	}
	for client, status := range want {
		if clients[client] != status {
			t.Errorf("clients %v, want %v", clients, want)
		}
	}
}
