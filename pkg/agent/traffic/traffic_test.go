package traffic

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// newLog returns the path of a log, and a function that appends to it as nginx does.
func newLog(t *testing.T) (string, func(text string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "requests")
	if err := Create(path); err != nil {
		t.Fatal(err)
	}
	nginx, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nginx.Close() })
	return path, func(text string) {
		t.Helper()
		if _, err := nginx.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, path string) *Counter {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.file.Close() })
	return c
}

// sample returns the value of a metric.
func sample(t *testing.T, c *Counter, name string) string {
	t.Helper()
	var text strings.Builder
	if err := c.WriteMetrics(&text); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no metric %s in:\n%s", name, &text)
	return ""
}

func TestCounter(t *testing.T) {
	path, write := newLog(t)
	c := open(t, path)
	write("200 1500 0.000\n304 180 0.010\n404 300 0.011\n200 9000000 20.5\n499 0 1.000\n")
	write("000 0 0.000\n503 200 0.0\nnonsense\n200 -1 0\n200 1 NaN\n999 1 0\n200 1 0 0\n20")
	for name, want := range map[string]string{
		`website_http_requests_total{code="1xx"}`:                 "0",
		`website_http_requests_total{code="2xx"}`:                 "2",
		`website_http_requests_total{code="3xx"}`:                 "1",
		`website_http_requests_total{code="4xx"}`:                 "2",
		`website_http_requests_total{code="5xx"}`:                 "1",
		`website_http_response_bytes_total`:                       "9002180",
		`website_http_request_duration_seconds_bucket{le="0.01"}`: "4",
		`website_http_request_duration_seconds_bucket{le="0.1"}`:  "5",
		`website_http_request_duration_seconds_bucket{le="1"}`:    "6",
		`website_http_request_duration_seconds_bucket{le="10"}`:   "6",
		`website_http_request_duration_seconds_bucket{le="+Inf"}`: "7",
		`website_http_request_duration_seconds_count`:             "7",
		`website_http_request_duration_seconds_sum`:               "21.521",
	} {
		if got := sample(t, c, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	// The rest of a line follows.
	write("0 10 0.000\n")
	if got := sample(t, c, `website_http_requests_total{code="2xx"}`); got != "3" {
		t.Errorf("%s requests with the last line", got)
	}
}

// TestFreed: the file takes a bounded space, and an agent that starts again counts no line twice.
func TestFreed(t *testing.T) {
	path, write := newLog(t)
	c := open(t, path)
	line := "200 12345 0.000\n"
	for i := range 20 {
		write(strings.Repeat(line, 10_000))
		if got, want := sample(t, c, `website_http_requests_total{code="2xx"}`), fmt.Sprint((i+1)*10_000); got != want {
			t.Fatalf("%s requests, want %s", got, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stored := info.Sys().(*syscall.Stat_t).Blocks * 512
	t.Logf("the file has %d bytes, of which %d are stored", info.Size(), stored)
	if stored > 64<<10 {
		t.Errorf("%d bytes are stored", stored)
	}
	write(line + line)
	again := open(t, path)
	if got := sample(t, again, `website_http_requests_total{code="2xx"}`); got != "2" {
		t.Errorf("%s requests are counted after a restart, want 2", got)
	}
}

// TestTruncated: lines in a truncated file are counted.
func TestTruncated(t *testing.T) {
	path, write := newLog(t)
	c := open(t, path)
	write("200 1 0.000\n200 1 0.000\n")
	sample(t, c, "website_http_response_bytes_total")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write("200 1 0.000\n")
	if got := sample(t, c, "website_http_response_bytes_total"); got != "3" {
		t.Errorf("%s bytes", got)
	}
}

// TestLinks: nginx could replace the file by a link to one of the agent's.
func TestLinks(t *testing.T) {
	path, _ := newLog(t)
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Create(link); err == nil {
		t.Error("a link is accepted by Create")
	}
	if _, err := Open(link); err == nil {
		t.Error("a link is accepted by Open")
	}
}
