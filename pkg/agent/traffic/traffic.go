// Package traffic counts the requests that nginx has answered, for the metrics of the agent.
//
// nginx appends a line for each request to a file of a volume that both containers mount, in blocks of up to 4 KiB and
// at least once a second. A pipe would block nginx while the agent does not read, and a socket would lose lines
// under load. The agent frees the blocks that it has read, so the file takes little space while its size only grows.
package traffic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

const (
	// period is the interval at which the file is read, so that it stays small without a client of /metrics.
	period = 10 * time.Second
	// blockSize is the size of a read. A line has at most a few dozen bytes.
	blockSize = 16 << 10
)

// bounds are the upper bounds, in seconds, of the histogram of durations.
var bounds = [...]float64{0.01, 0.1, 1, 10}

// Create creates the file, unless it exists. It must be there before nginx starts: nginx would create it as a file
// that the agent cannot write to. Another user runs nginx.
func Create(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o666)
	if err == nil {
		// Creation applies the umask.
		err = errors.Join(file.Chmod(0o666), file.Close())
	}
	if err != nil {
		return fmt.Errorf("creating the access log: %w", err)
	}
	return nil
}

// Counter counts the requests in a file. It is safe for concurrent use.
type Counter struct {
	mu     sync.Mutex
	file   *os.File
	offset int64
	block  []byte

	// requests are by the first digit of the status.
	requests     [6]uint64
	total, bytes uint64
	seconds      float64
	// buckets count the durations up to each of bounds.
	buckets [len(bounds)]uint64
}

// Open opens the file for reading. A former agent has freed the lines that it had counted.
func Open(path string) (*Counter, error) {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the access log: %w", err)
	}
	return &Counter{file: file, offset: firstData(file), block: make([]byte, blockSize)}, nil
}

// Run reads the file until ctx ends.
func (c *Counter) Run(ctx context.Context) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return c.file.Close()
		case <-ticker.C:
			c.mu.Lock()
			err := c.read()
			c.mu.Unlock()
			if err != nil {
				klog.FromContext(ctx).Error(err, "Failed to read the access log, so requests are not counted")
			}
		}
	}
}

// WriteMetrics reads the file and writes the counts in the text format of Prometheus.
func (c *Counter) WriteMetrics(w io.Writer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil {
		return err
	}
	var text bytes.Buffer
	text.WriteString("# HELP website_http_requests_total Requests that nginx has answered, by class of the status.\n" +
		"# TYPE website_http_requests_total counter\n")
	for i, n := range c.requests[1:] {
		fmt.Fprintf(&text, "website_http_requests_total{code=\"%dxx\"} %d\n", i+1, n)
	}
	fmt.Fprintf(&text, "# HELP website_http_response_bytes_total Bytes of responses, headers included.\n"+
		"# TYPE website_http_response_bytes_total counter\nwebsite_http_response_bytes_total %d\n", c.bytes)
	text.WriteString("# HELP website_http_request_duration_seconds Time from the first byte of a request to the " +
		"last one of its response.\n# TYPE website_http_request_duration_seconds histogram\n")
	for i, bound := range bounds {
		fmt.Fprintf(&text, "website_http_request_duration_seconds_bucket{le=\"%v\"} %d\n", bound, c.buckets[i])
	}
	fmt.Fprintf(&text, "website_http_request_duration_seconds_bucket{le=\"+Inf\"} %[1]d\n"+
		"website_http_request_duration_seconds_sum %.3[2]f\nwebsite_http_request_duration_seconds_count %[1]d\n",
		c.total, c.seconds)
	_, err := w.Write(text.Bytes())
	return err
}

// read counts the lines that nginx has written since, and frees them.
func (c *Counter) read() error {
	if info, err := c.file.Stat(); err == nil && info.Size() < c.offset {
		c.offset = 0
	}
	from := c.offset
	for {
		n, err := c.file.ReadAt(c.block, c.offset)
		lines := c.block[:n]
		end := bytes.LastIndexByte(lines, '\n') + 1
		if end == 0 && n == len(c.block) {
			end = n // No line of nginx is that long.
		}
		for line := range bytes.Lines(lines[:end]) {
			c.count(line)
		}
		c.offset += int64(end)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading the access log: %w", err)
		}
	}
	if c.offset == from {
		return nil
	}
	if err := free(c.file, c.offset); err != nil {
		// The file system has no holes. A line that nginx writes at this very moment is lost.
		c.offset = 0
		if err := c.file.Truncate(0); err != nil {
			return fmt.Errorf("emptying the access log: %w", err)
		}
	}
	return nil
}

// count counts a line: the status, the bytes that were sent, and the duration in seconds.
func (c *Counter) count(line []byte) {
	fields := bytes.Fields(bytes.TrimLeft(line, "\x00")) // The first block may have been freed in part.
	if len(fields) != 3 {
		return
	}
	status, invalidStatus := strconv.ParseUint(string(fields[0]), 10, 16)
	size, invalidSize := strconv.ParseUint(string(fields[1]), 10, 64)
	seconds, invalidSeconds := strconv.ParseFloat(string(fields[2]), 64)
	if errors.Join(invalidStatus, invalidSize, invalidSeconds) != nil || status/100 >= uint64(len(c.requests)) ||
		!(seconds >= 0) {
		return
	}
	c.requests[status/100]++
	c.total++
	c.bytes += size
	c.seconds += seconds
	for i, bound := range bounds {
		if seconds <= bound {
			c.buckets[i]++
		}
	}
}
