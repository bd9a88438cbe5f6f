package devcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFindRepo(t *testing.T) {
	repo := t.TempDir()
	deep := filepath.Join(repo, "test", "integration")
	for _, dir := range []string{deep, filepath.Join(repo, kubernetesModule)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeTestFile(t, filepath.Join(repo, "go.mod"), "module m\n")
	writeTestFile(t, filepath.Join(repo, kubernetesModule, "go.mod"), "module k\n")
	for _, from := range []string{repo, deep, filepath.Join(repo, kubernetesModule)} {
		if got, err := findRepo(from); err != nil || got != repo {
			t.Errorf("findRepo(%s) = %q, %v, want %s", from, got, err, repo)
		}
	}
	if _, err := findRepo(t.TempDir()); err == nil {
		t.Error("found a checkout where there is none")
	}
}

func TestOptionsComplete(t *testing.T) {
	repo := testRepo(t)
	t.Run("detached", func(t *testing.T) {
		o, temporary, err := Options{RepoDir: repo, Detached: true}.complete()
		if err != nil || temporary || o.Dir != filepath.Join(repo, DefaultDir) {
			t.Errorf("complete = %+v, %t, %v", o, temporary, err)
		}
	})
	t.Run("test", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		o, temporary, err := Options{RepoDir: repo}.complete()
		if err != nil || !temporary || o.SimulatedNodes != 1 || o.Node != NodeAuto || o.ReadyTimeout != DefaultReadyTimeout || o.Progress == nil {
			t.Errorf("complete = %+v, %t, %v", o, temporary, err)
		}
	})
	for name, bad := range map[string]Options{
		"node mode":      {Node: "imaginary"},
		"negative nodes": {SimulatedNodes: -1},
		"too many nodes": {SimulatedNodes: maxSimulatedNodes + 1},
	} {
		bad.RepoDir, bad.Dir = repo, t.TempDir()
		if _, _, err := bad.complete(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSimulatedAddressesAreValid(t *testing.T) {
	seen := map[string]bool{}
	for i := range maxSimulatedNodes {
		for _, address := range []string{nodeIP(i), podRange(i)} {
			if seen[address] {
				t.Errorf("%s is used twice", address)
			}
			seen[address] = true
		}
	}
	if last := podRange(maxSimulatedNodes - 1); last != "10.252.128.0/17" {
		t.Errorf("last range of pods = %s", last)
	}
}

func TestFailedChecks(t *testing.T) {
	tests := map[string]string{
		"[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\nreadyz check failed\n": "[-]etcd failed: reason withheld",
		"shutting down\n": "shutting down",
	}
	for body, want := range tests {
		if got := failedChecks(body); got != want {
			t.Errorf("failedChecks(%q) = %q, want %q", body, got, want)
		}
	}
}

func TestWebsiteAvailable(t *testing.T) {
	website := func(spec, status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": status}}
	}
	replicas := func(n int64) map[string]any { return map[string]any{"replicas": n} }
	available := func(n int64) map[string]any { return map[string]any{"availableReplicas": n} }
	tests := []struct {
		name    string
		website *unstructured.Unstructured
		ok      bool
	}{
		{"all", website(replicas(2), available(2)), true},
		{"some", website(replicas(2), available(1)), false},
		{"no status yet", website(replicas(1), nil), false},
		{"default replicas, none available", website(nil, available(0)), false},
		{"default replicas", website(nil, available(1)), true},
		{"none wanted", website(replicas(0), nil), true},
	}
	for _, test := range tests {
		if _, err := websiteAvailable(test.website); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestLogTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var content strings.Builder
	for range 20000 {
		content.WriteString("early line\n")
	}
	content.WriteString(strings.Repeat("x", 10*tailLineLength) + "\nlast line\n\n")
	writeTestFile(t, path, content.String())
	tail := logTail(path, 0)
	if len(tail) != tailLines || tail[len(tail)-1] != "last line" || tail[0] != "early line" {
		t.Errorf("logTail = %q", tail)
	}
	if long := tail[len(tail)-2]; len(long) != tailLineLength+len("...") {
		t.Errorf("a long line takes %d characters", len(long))
	}
	if tail := logTail(path, int64(content.Len())); tail != nil {
		t.Errorf("logTail after the end = %q", tail)
	}
}
