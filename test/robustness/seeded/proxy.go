// Package seeded violates the guarantees of an API server on purpose: a reverse proxy in front of a
// correct one. Tests prove with it that the checks of robustness detect violations.
package seeded

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Bug is a defect of a proxy.
type Bug string

// The bugs.
const (
	// None forwards everything unchanged.
	None Bug = "none"
	// StaleRead answers some reads with an earlier answer, as from a cache that lags.
	StaleRead Bug = "stale-read"
	// LostUpdate ignores the resource version of an update that conflicts.
	LostUpdate Bug = "lost-update"
	// LostWrite acknowledges some patches without storing them.
	LostWrite Bug = "lost-write"
	// SkippedEvent leaves some events of watches out.
	SkippedEvent Bug = "skipped-event"
	// DuplicatedEvent reports some events twice.
	DuplicatedEvent Bug = "duplicated-event"
	// BookmarkTooNew sends the bookmark of some events before them.
	BookmarkTooNew Bug = "bookmark-too-new"
	// ResumeTooLate starts watches at the most recent revision instead of the requested one.
	ResumeTooLate Bug = "resume-too-late"
)

// every is the number of requests or events from one broken one to the next.
const every = 10

// Proxy is a running proxy.
type Proxy struct {
	*httptest.Server
	bug     Bug
	healed  atomic.Bool
	next    http.RoundTripper
	count   atomic.Int64
	mu      sync.Mutex
	answers map[string][]byte
	// latest is the highest revision in a response.
	latest int64
}

// NewProxy starts a proxy in front of the server of config. Its clients act as the user of config,
// and must request JSON.
func NewProxy(config *rest.Config, bug Bug) (*Proxy, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("parsing the URL of the server: %w", err)
	}
	next, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the server: %w", err)
	}
	p := &Proxy{bug: bug, next: next, answers: map[string][]byte{}}
	p.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			// The proxy needs uncompressed responses.
			r.Out.Header.Del("Accept-Encoding")
		},
		Transport: p, FlushInterval: -1,
	})
	return p, nil
}

// Config returns the configuration of a client of the proxy.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json",
		AcceptContentTypes: "application/json"}}
}

// Heal makes the proxy forward everything unchanged from now on.
func (p *Proxy) Heal() { p.healed.Store(true) }

// has returns whether the proxy has this bug.
func (p *Proxy) has(bug Bug) bool { return p.bug == bug && !p.healed.Load() }

// due reports whether the current request or event must be broken.
func (p *Proxy) due() bool { return p.count.Add(1)%every == 0 }

// RoundTrip sends a request and breaks it, or its response.
func (p *Proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	watch := query.Get("watch") == "true"
	switch {
	case watch && p.has(ResumeTooLate) && query.Get("resourceVersion") != "":
		asked := revision(query.Get("resourceVersion"))
		query.Set("resourceVersion", strconv.FormatInt(p.later(r.Context(), asked), 10))
		r.URL.RawQuery = query.Encode()
	case p.has(LostWrite) && r.Method == http.MethodPatch && p.due():
		query.Set("dryRun", "All")
		r.URL.RawQuery = query.Encode()
	case p.has(LostUpdate) && r.Method == http.MethodPut:
		return p.overwrite(r)
	}
	response, err := p.next.RoundTrip(r)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices {
		return response, err //nolint:wrapcheck // A round tripper returns errors unchanged.
	}
	if watch {
		// Other rules apply to initial events.
		if query.Get("sendInitialEvents") == "" {
			response.Body = p.breakEvents(response.Body)
		}
		return response, nil
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	p.raise(body)
	if r.Method == http.MethodGet && query.Get("resourceVersion") == "" && query.Get("continue") == "" {
		body = p.breakRead(r.URL.String(), body)
	}
	setBody(response, body)
	return response, nil
}

func setBody(response *http.Response, body []byte) {
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// breakRead records the response to a read, or replaces it by the one before.
func (p *Proxy) breakRead(url string, body []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earlier := p.answers[url]; earlier != nil && p.has(StaleRead) && p.due() {
		return earlier
	}
	p.answers[url] = body
	return body
}

// overwrite repeats a conflicting update with the current resource version.
func (p *Proxy) overwrite(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("reading an update: %w", err)
	}
	put := func(body []byte) (*http.Response, error) {
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return p.next.RoundTrip(again)
	}
	response, err := put(body)
	if err != nil || response.StatusCode != http.StatusConflict {
		return response, err
	}
	read := r.Clone(r.Context())
	read.Method, read.Body, read.ContentLength = http.MethodGet, nil, 0
	read.Header.Del("Content-Type")
	found, err := p.next.RoundTrip(read)
	if err != nil || found.StatusCode != http.StatusOK {
		return response, nil //nolint:nilerr // The client gets the conflict.
	}
	defer found.Body.Close() //nolint:errcheck // The body was read.
	var current, update struct {
		Metadata map[string]any `json:"metadata"`
	}
	var whole map[string]any
	if json.NewDecoder(found.Body).Decode(&current) != nil || json.Unmarshal(body, &whole) != nil ||
		json.Unmarshal(body, &update) != nil {
		return response, nil
	}
	update.Metadata["resourceVersion"] = current.Metadata["resourceVersion"]
	whole["metadata"] = update.Metadata
	if body, err = json.Marshal(whole); err != nil {
		return response, nil //nolint:nilerr // The client gets the conflict.
	}
	_ = response.Body.Close()
	return put(body)
}

// raise records the revision in a response.
func (p *Proxy) raise(body []byte) {
	var answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latest = max(p.latest, revision(answer.Metadata.ResourceVersion))
}

func (p *Proxy) latestRevision() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latest
}

// resumeDelay is the time that a watch waits for a later revision: a client resumes within a
// millisecond, in which a fast server makes no change that could be skipped.
const resumeDelay = 200 * time.Millisecond

// later returns a revision some changes after another one, if there are any.
func (p *Proxy) later(ctx context.Context, asked int64) int64 {
	select {
	case <-time.After(resumeDelay):
	case <-ctx.Done():
	}
	return max(p.latestRevision(), asked)
}

// revision parses a resource version, and returns 0 for an invalid one.
func revision(resourceVersion string) int64 {
	n, _ := strconv.ParseInt(resourceVersion, 10, 64)
	return n
}
