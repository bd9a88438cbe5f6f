package bench

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// fakeServer serves as much of one resource as measurements need: lists in two pages,
// and watches that receive an event for each patch.
type fakeServer struct {
	mu       sync.Mutex
	watchers []chan string
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Get("watch") != "":
		f.watch(w, r)
	case strings.HasPrefix(r.URL.Path, "/debug/"):
		_, _ = io.WriteString(w, "# HeapAlloc = 5\n")
	case r.Method == http.MethodPatch:
		f.mu.Lock()
		for _, watcher := range f.watchers {
			watcher <- "{}\n"
		}
		f.mu.Unlock()
		_, _ = io.WriteString(w, "{}")
	case query.Get("limit") != "" && query.Get("continue") == "":
		_, _ = io.WriteString(w, `{"metadata":{"continue":"next"},"items":[]}`)
	case strings.HasSuffix(r.URL.Path, "/missing"):
		http.Error(w, "there is no such thing", http.StatusNotFound)
	default:
		_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"1"}}`)
	}
}

func (f *fakeServer) watch(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		_, _ = fmt.Fprintf(w, "{}\n{}\n{%q:1}\n", initialEventsEnd)
		return
	}
	watcher := make(chan string, 10)
	f.mu.Lock()
	f.watchers = append(f.watchers, watcher)
	f.mu.Unlock()
	w.(http.Flusher).Flush()
	for {
		select {
		case event := <-watcher:
			_, _ = io.WriteString(w, event)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// newFakeRun returns a run with one target, on which no process is measured.
func newFakeRun(t *testing.T, options measure.Options) (*run, *target) {
	t.Helper()
	server := httptest.NewServer(&fakeServer{})
	t.Cleanup(server.Close)
	c, err := measure.NewClient(&rest.Config{Host: server.URL}, 2)
	if err != nil {
		t.Fatal(err)
	}
	example := object{"source": object{"git": object{"repository": "https://git.example.com/site.git"}}}
	one := &target{name: "fake", client: c, root: "/apis/example.com/v1", resource: "websites", media: measure.JSON,
		manifest: websiteManifest("example.com/v1", example), data: "websites", namespace: "bench"}
	options.Websites, options.Requests, options.Lists, options.Events, options.Progress = 3, 4, 3, 5, io.Discard
	return &run{Run: &measure.Run{Options: options},
		environment: &environment{targets: []*target{one}, proxied: c, direct: c}}, one
}

func TestRound(t *testing.T) {
	want := map[string]int{
		"create": 4, "get": 4, "get, sequential": 4, "patch": 4, "server-side apply": 4, "status update": 4, "delete": 4,
		"list 3": 3, "list 6": 3, "list 6, consistent": 3, "list 6 as Table": 3, "list 3 in pages of 500": 3,
		"WatchList of 6": 1, "event to 50 watchers": 5 * 50,
	}
	full := maps.Clone(want)
	maps.Copy(full, map[string]int{"list 3, consistent": 3, "list 3 as Table": 3, "list 6, gzip": 3,
		"event to 200 watchers": 5 * 200})
	for name, test := range map[string]struct {
		options measure.Options
		want    map[string]int
	}{"quick": {Quick(), want}, "full": {Full(), full}} {
		t.Run(name, func(t *testing.T) {
			r, one := newFakeRun(t, test.options)
			if err := r.target(t.Context(), one, 0); err != nil {
				t.Fatal(err)
			}
			measured := r.records.measurements([]string{"fake"})
			for _, m := range measured {
				if m.Requests != test.want[m.Operation] || m.MedianMillis <= 0 || m.P99Millis < m.MedianMillis ||
					m.ReceivedBytes <= 0 || m.SentBytes <= 0 {
					t.Errorf("got %+v, want %d requests", m, test.want[m.Operation])
				}
			}
			if len(measured) != len(test.want) {
				t.Errorf("got %d operations, want %d", len(measured), len(test.want))
			}
		})
	}
}

func TestPages(t *testing.T) {
	_, one := newFakeRun(t, Quick())
	const first, second = `{"metadata":{"continue":"next"},"items":[]}`, `{"metadata":{"resourceVersion":"1"}}`
	if got, err := one.listInPages(t.Context()); err != nil || got.Bytes != int64(len(first+second)) {
		t.Errorf("got %d bytes, %v, want both pages", got.Bytes, err)
	}
}

func TestErrorsNameTheRequest(t *testing.T) {
	_, one := newFakeRun(t, Quick())
	_, err := one.client.Do(t.Context(), 0,
		measure.Request{Method: http.MethodGet, Path: "/missing", Accept: measure.JSON})
	if err == nil || !strings.Contains(err.Error(), "GET /missing: 404 Not Found: there is no such thing") {
		t.Errorf("got %v", err)
	}
}
