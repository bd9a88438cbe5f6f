package seeded

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// breakEvents copies the events of a watch, one per line, and breaks some.
func (p *Proxy) breakEvents(events io.ReadCloser) io.ReadCloser {
	if p.bug != SkippedEvent && p.bug != DuplicatedEvent && p.bug != BookmarkTooNew {
		return events
	}
	return &brokenEvents{Closer: events, proxy: p, lines: bufio.NewReader(events)}
}

// brokenEvents is the body of a watch.
type brokenEvents struct {
	io.Closer
	proxy *Proxy
	lines *bufio.Reader
	// rest is the unread part of the last event.
	rest []byte
}

func (b *brokenEvents) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		line, err := b.lines.ReadBytes('\n')
		if err != nil {
			return 0, err //nolint:wrapcheck // The body's error is returned unchanged.
		}
		b.rest = b.proxy.breakEvent(line)
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// breakEvent returns the replacement of an event.
func (p *Proxy) breakEvent(line []byte) []byte {
	var event struct {
		Type   string `json:"type"`
		Object struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				ResourceVersion string `json:"resourceVersion"`
			} `json:"metadata"`
		} `json:"object"`
	}
	if json.Unmarshal(line, &event) != nil || event.Type == "BOOKMARK" || event.Type == "ERROR" || !p.due() {
		return line
	}
	switch {
	case p.has(SkippedEvent):
		return nil
	case p.has(DuplicatedEvent):
		return append(line, line...)
	case p.has(BookmarkTooNew):
		return fmt.Appendf(nil,
			`{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":%q}}}`+"\n%s",
			event.Object.APIVersion, event.Object.Kind, event.Object.Metadata.ResourceVersion, line)
	default:
		return line
	}
}
