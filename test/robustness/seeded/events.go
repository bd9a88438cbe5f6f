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
	reader, writer := io.Pipe()
	go func() {
		lines := bufio.NewReader(events)
		for {
			line, err := lines.ReadBytes('\n')
			if err == nil {
				_, err = writer.Write(p.breakEvent(line))
			}
			if err != nil {
				_ = writer.CloseWithError(err)
				return
			}
		}
	}()
	return &brokenEvents{Reader: reader, pipe: reader, events: events}
}

// brokenEvents is the body of a watch. Closing it ends the goroutine that fills it.
type brokenEvents struct {
	io.Reader
	pipe   *io.PipeReader
	events io.Closer
}

func (b *brokenEvents) Close() error {
	_ = b.pipe.Close()
	return b.events.Close() //nolint:wrapcheck // The body's error is returned unchanged.
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
