// Package serving measures how many requests per second a pod of a Website answers, beside an
// nginx with a configuration as in its documentation: same image, same files, same limits,
// same format of the access log, on one real node. "make bench-serving" runs it; docs/performance.md
// explains the measurements.
package serving

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/hack/devcluster/node"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// Defaults are the sizes of "make bench-serving". Clients have a connection each.
func Defaults() measure.Options {
	return measure.Options{Rounds: 5, Duration: 10 * time.Second, Clients: 32}
}

// Run starts a cluster, measures, and stops the cluster. With an error, the report has the results
// until then.
func Run(ctx context.Context, options measure.Options) (measure.Report, error) {
	report := &Report{}
	if err := provideWrk(ctx); err != nil {
		return report, err
	}
	return report, measure.Start(ctx, &report.Head, options, devcluster.Options{Node: devcluster.NodeReal},
		func(ctx context.Context, run *measure.Run) error {
			servers, err := startServers(ctx, run.Cluster)
			if err != nil {
				return err
			}
			for round := range options.Rounds {
				run.Progress("round %d of %d", round+1, options.Rounds)
				for _, request := range requests {
					for _, i := range measure.Order(len(servers), round, options.Rounds) {
						if err := repeat(ctx, report, servers[i], request); err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
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

// validators are the headers with which a browser has a response confirmed.
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
