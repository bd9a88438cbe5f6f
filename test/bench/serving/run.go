// Package serving measures how many requests per second a pod of a Website answers, beside an
// nginx with a configuration as in its documentation: same image, same files, same limits,
// same format of the access log, on one real node. "make bench-serving" runs it; docs/performance.md
// explains what it measures.
package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/hack/devcluster/node"
)

// Options are the sizes of a run.
type Options struct {
	// Rounds is the number of times that each request is measured, with both servers in turn.
	Rounds int `json:"rounds"`
	// Duration is how long each of these measurements takes.
	Duration time.Duration `json:"duration"`
	// Connections are kept open and used at the same time.
	Connections int `json:"connections"`
	// Progress receives a line per step.
	Progress io.Writer `json:"-"`
}

// Run starts a cluster, measures, and stops the cluster. With an error, the report has what was measured
// until then, or is nil.
func Run(ctx context.Context, options Options) (report *Report, err error) {
	if options.Rounds < 1 || options.Duration < time.Second || options.Connections < 1 {
		return nil, errors.New("rounds and connections must be at least 1, and the duration at least 1s")
	}
	if err := provideWrk(ctx); err != nil {
		return nil, err
	}
	cluster, err := devcluster.Up(ctx, devcluster.Options{Node: devcluster.NodeReal, Progress: options.Progress})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopped := cluster.Stop(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	servers, err := startServers(ctx, cluster)
	if err != nil {
		return nil, err
	}
	report = &Report{Options: options, Begin: time.Now().UTC().Truncate(time.Second)}
	for round := range options.Rounds {
		for _, request := range requests {
			for i := range servers {
				// Each is first as often as the other.
				s := servers[(i+round)%len(servers)]
				if err := repeat(ctx, report, s, request); err != nil {
					report.Failure = err.Error()
					return report, err
				}
			}
		}
		fmt.Fprintf(options.Progress, "round %d of %d is over\n", round+1, options.Rounds)
	}
	return report, nil
}

// provideWrk installs wrk unless it is there.
func provideWrk(ctx context.Context) error {
	if _, err := exec.LookPath("wrk"); err == nil {
		return nil
	}
	if err := node.InstallDebian(ctx, "wrk"); err != nil {
		return fmt.Errorf("installing the Debian package wrk: %w", err)
	}
	return nil
}

// request is one that is repeated as fast as possible.
type request struct {
	name, path string
	// status is what every answer has.
	status int
	// conditional sends the tag or the time of an answer to the same request before.
	conditional bool
	// encoding is Accept-Encoding.
	encoding string
}

var requests = []request{
	{name: "page", path: "/", status: http.StatusOK},
	{name: "stylesheet", path: "/style.css", status: http.StatusOK},
	{name: "stylesheet, compressed while it is sent", path: "/style.css", status: http.StatusOK, encoding: "gzip"},
	{name: "stylesheet, compressed in the repository", path: "/ready.css", status: http.StatusOK, encoding: "gzip"},
	{name: "not modified", path: "/style.css", status: http.StatusNotModified, conditional: true},
	{name: "not found", path: "/missing", status: http.StatusNotFound},
	{name: "large file", path: "/film.bin", status: http.StatusOK},
}

// repeat repeats a request to one server, after one whose answer is checked.
func repeat(ctx context.Context, report *Report, s server, r request) error {
	url := strings.TrimSuffix(s.url, "/") + r.path
	header := http.Header{}
	if r.encoding != "" {
		header.Set("Accept-Encoding", r.encoding)
	}
	if r.conditional {
		validators, err := validators(ctx, url)
		if err != nil {
			return err
		}
		for name, value := range validators {
			header[name] = value
		}
	}
	answer, err := do(ctx, url, header)
	if err != nil {
		return err
	}
	if answer.StatusCode != r.status {
		return fmt.Errorf("%s answers %s with %s, want %d", s.name, r.path, answer.Status, r.status)
	}
	if r.encoding != answer.Header.Get("Content-Encoding") {
		return fmt.Errorf("%s answers %s with the encoding %q, want %q", s.name, r.path,
			answer.Header.Get("Content-Encoding"), r.encoding)
	}
	result, err := wrk(ctx, report.Options, url, header, r.status)
	if err != nil {
		return fmt.Errorf("measuring %s of %s: %w", r.name, s.name, err)
	}
	report.add(r.name, s.name, result)
	return nil
}

// validators are what a browser sends to have an answer confirmed.
func validators(ctx context.Context, url string) (http.Header, error) {
	answer, err := do(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if tag := answer.Header.Get("ETag"); tag != "" {
		header.Set("If-None-Match", tag)
	}
	if modified := answer.Header.Get("Last-Modified"); modified != "" {
		header.Set("If-Modified-Since", modified)
	}
	return header, nil
}

// do makes one request, and reads its answer to the end.
func do(ctx context.Context, url string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	client := &http.Client{Timeout: time.Minute,
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	return response, nil
}
