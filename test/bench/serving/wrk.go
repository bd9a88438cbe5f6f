package serving

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// result is what wrk has measured.
type result struct {
	PerSecond float64 `json:"perSecond"`
	P99Millis float64 `json:"p99Millis"`
	MBytes    float64 `json:"megabytesPerSecond"`
}

// wrk repeats a request on all connections. An answer with another status than expected, or
// none, is an error.
func wrk(ctx context.Context, options measure.Options, url string, header http.Header, status int) (result, error) {
	// Without it, one answer that takes two seconds on a slow machine fails.
	const timeout = 30 * time.Second
	args := []string{"--threads=1", fmt.Sprintf("--timeout=%ds", int(timeout.Seconds())), fmt.Sprintf("--connections=%d",
		options.Clients), fmt.Sprintf("--duration=%ds", int(options.Duration.Seconds())), "--latency"}
	for name, values := range header {
		args = append(args, "--header", name+": "+strings.Join(values, ", "))
	}
	cmd := exec.CommandContext(ctx, "wrk", append(args, url)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return result{}, fmt.Errorf("wrk: %w: %s", err, out)
	}
	return parse(string(out), status)
}

var (
	wrkRate     = regexp.MustCompile(`(?m)^Requests/sec:\s+([0-9.]+)$`)
	wrkTransfer = regexp.MustCompile(`(?m)^Transfer/sec:\s+([0-9.]+)(B|KB|MB|GB)$`)
	wrkP99      = regexp.MustCompile(`(?m)^\s+99%\s+([0-9.]+)(us|ms|s)$`)
	wrkRequests = regexp.MustCompile(`(?m)^\s+([0-9]+) requests in `)
	wrkErrors   = regexp.MustCompile(`(?m)^\s+Socket errors: connect ([0-9]+), read ([0-9]+), write ([0-9]+), timeout ` +
		`([0-9]+)$`)
	wrkStatus = regexp.MustCompile(`(?m)^\s+Non-2xx or 3xx responses: ([0-9]+)$`)
)

// megabytes are of wrk's units, which are powers of 1024.
var megabytes = map[string]float64{"B": 1e-6, "KB": 1 << 10 * 1e-6, "MB": 1 << 20 * 1e-6, "GB": 1 << 30 * 1e-6}

// parse reads what wrk prints.
func parse(out string, status int) (result, error) {
	rate, transfer, p99, count := wrkRate.FindStringSubmatch(out), wrkTransfer.FindStringSubmatch(out),
		wrkP99.FindStringSubmatch(out), wrkRequests.FindStringSubmatch(out)
	if rate == nil || transfer == nil || p99 == nil || count == nil {
		return result{}, fmt.Errorf("wrk printed no result: %s", out)
	}
	if failed := wrkErrors.FindStringSubmatch(out); failed != nil {
		return result{}, fmt.Errorf("requests failed: %s", strings.TrimSpace(failed[0]))
	}
	refused := "0"
	if found := wrkStatus.FindStringSubmatch(out); found != nil {
		refused = found[1]
	}
	expected := "0"
	if status >= http.StatusBadRequest {
		expected = count[1]
	}
	if refused != expected {
		return result{}, fmt.Errorf("%s of %s answers were neither 2xx nor 3xx, want %s", refused, count[1], expected)
	}
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	if err != nil {
		return result{}, fmt.Errorf("parsing the rate: %w", err)
	}
	bytes, err := strconv.ParseFloat(transfer[1], 64)
	if err != nil {
		return result{}, fmt.Errorf("parsing the transfer: %w", err)
	}
	latency, err := time.ParseDuration(p99[1] + p99[2])
	if err != nil {
		return result{}, fmt.Errorf("parsing the latency: %w", err)
	}
	return result{PerSecond: perSecond, MBytes: bytes * megabytes[transfer[2]],
		P99Millis: float64(latency) / float64(time.Millisecond)}, nil
}
