package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// tailPeriod is how often the audit log is read: often enough that none is rotated away.
const tailPeriod = 200 * time.Millisecond

// calls are counts of requests to kube-apiserver, which all requests pass, by verb and
// resource.
type calls map[call]int

type call struct{ verb, resource string }

// byVerb sums up.
func (c calls) byVerb() map[string]int {
	counts := map[string]int{}
	for call, n := range c {
		counts[call.verb] += n
	}
	return counts
}

// byWrittenResource counts writes.
func (c calls) byWrittenResource() map[string]int {
	counts := map[string]int{}
	for call, n := range c {
		switch call.verb {
		case "get", "list", "watch":
		default:
			counts[call.resource] += n
		}
	}
	return counts
}

// since returns the calls that were added.
func (c calls) since(before calls) calls {
	added := calls{}
	for call, n := range c {
		if n > before[call] {
			added[call] = n - before[call]
		}
	}
	return added
}

func sum[K comparable](counts map[K]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// callCounter counts the requests of controllers in the audit log of kube-apiserver.
type callCounter struct {
	path string

	mu     sync.Mutex
	counts map[string]calls
	err    error
}

// of returns the requests of a user until now.
func (c *callCounter) of(user string) (calls, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts[user]), c.err
}

// run follows the log, also when it is rotated, until ctx ends.
func (c *callCounter) run(ctx context.Context) {
	err := c.follow(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *callCounter) follow(ctx context.Context) error {
	file, err := os.Open(c.path)
	if err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	ticker := time.NewTicker(tailPeriod)
	defer ticker.Stop()
	var rest []byte
	for {
		// Before the rest is read: lines until the rotation are in the old file.
		named, statErr := os.Stat(c.path)
		data, err := io.ReadAll(file)
		if err != nil {
			return fmt.Errorf("reading the audit log: %w", err)
		}
		rest = c.count(append(rest, data...))
		if open, err := file.Stat(); err == nil && statErr == nil && !os.SameFile(open, named) {
			_ = file.Close()
			if file, err = os.Open(c.path); err != nil {
				return fmt.Errorf("opening the audit log: %w", err)
			}
			rest = nil
			continue
		}
		select {
		case <-ctx.Done():
			return errors.New("the audit log is no longer read")
		case <-ticker.C:
		}
	}
}

// count counts the complete lines, and returns the rest.
func (c *callCounter) count(data []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		line, rest, complete := bytes.Cut(data, []byte("\n"))
		if !complete {
			return bytes.Clone(data)
		}
		data = rest
		for user, counts := range c.counts {
			// Most lines are of other clients and need not be decoded.
			if bytes.Contains(line, []byte(user)) {
				if call, isCall := callOf(line, user); isCall {
					counts[call]++
				}
			}
		}
	}
}

// callOf decodes a line. It leaves out requests that are not for Websites: the lease,
// discovery, and the authorization of clients that read the metrics.
func callOf(line []byte, user string) (call, bool) {
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil || event.User.Username != user || event.ObjectRef == nil {
		return call{}, false
	}
	resource := event.ObjectRef.Resource
	switch resource {
	case "leases", "subjectaccessreviews", "tokenreviews":
		return call{}, false
	}
	if event.ObjectRef.Subresource != "" {
		resource += "/" + event.ObjectRef.Subresource
	}
	// A watch is logged when it begins and when it ends.
	isCounted := event.Stage == auditv1.StageResponseComplete
	if event.Verb == "watch" {
		isCounted = event.Stage == auditv1.StageResponseStarted
	}
	return call{event.Verb, resource}, isCounted
}
