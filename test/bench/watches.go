package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

const (
	// watchesPerConnection is below the limit of kube-apiserver, 100 streams.
	watchesPerConnection = 50
	eventTimeout         = time.Minute
)

// events splits a watch into its events without decoding them.
type events struct {
	reader *bufio.Reader
	media  string
	buffer []byte
}

func newEvents(body io.Reader, media string) *events {
	return &events{reader: bufio.NewReaderSize(body, 16<<10), media: media}
}

// next returns the next event, valid until the next call.
func (e *events) next() ([]byte, error) {
	e.buffer = e.buffer[:0]
	if e.media == measure.Protobuf {
		var length [4]byte
		if _, err := io.ReadFull(e.reader, length[:]); err != nil {
			return nil, err
		}
		size := int(binary.BigEndian.Uint32(length[:]))
		if cap(e.buffer) < size {
			e.buffer = make([]byte, size)
		}
		e.buffer = e.buffer[:size]
		_, err := io.ReadFull(e.reader, e.buffer)
		return e.buffer, err
	}
	for {
		part, err := e.reader.ReadSlice('\n')
		e.buffer = append(e.buffer, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return e.buffer, err
		}
	}
}

// watch opens a watch, whose events are in the body of the response.
func (t *target) watch(ctx context.Context, connection int, namespace string,
	query url.Values) (*http.Response, error) {
	query.Set("watch", "1")
	accept := t.media
	if accept == measure.Protobuf {
		accept += ";stream=watch"
	}
	return t.client.Send(ctx, connection,
		measure.Request{Method: http.MethodGet, Path: t.path(namespace, "", "") + "?" + query.Encode(), Accept: accept})
}

// fanOut measures the time from a write until all watchers of a namespace have its event.
func (r *run) fanOut(ctx context.Context, t *target, watchers, round int) error {
	operation := fmt.Sprintf("event to %d watchers", watchers)
	fail := func(err error) error { return fmt.Errorf("%s: %s: %w", t.name, operation, err) }
	name := fmt.Sprintf("watched-%d-%d", watchers, round)
	if err := t.create(ctx, 0, t.namespace, name); err != nil {
		return fail(err)
	}
	if err := t.report(ctx, 0, t.namespace, name); err != nil {
		return fail(err)
	}
	version, err := t.resourceVersion(ctx, name)
	if err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	received := make(chan time.Time, watchers)
	failed := make(chan error, watchers)
	for i := range watchers {
		resp, err := t.watch(ctx, i/watchesPerConnection, t.namespace, url.Values{"resourceVersion": {version}})
		if err != nil {
			return fail(err)
		}
		defer func() { _ = resp.Body.Close() }()
		go func() {
			for events := newEvents(resp.Body, t.media); ; {
				if _, err := events.next(); err != nil {
					failed <- err
					return
				}
				received <- time.Now()
			}
		}()
	}
	patch := func(i int) error {
		body := fmt.Appendf(nil, `{"metadata":{"labels":{"event":"%d"}}}`, i+1)
		// Not on the connections of the watches.
		_, err := t.client.Do(ctx, r.Options.Clients-1, measure.Request{Method: http.MethodPatch,
			Path: t.path(t.namespace, name, ""), Body: body, ContentType: measure.MergePatch, Accept: t.media})
		return err
	}
	deliver := func(i int) ([]measure.Response, error) {
		begin := time.Now()
		if err := patch(i); err != nil {
			return nil, err
		}
		var times []measure.Response
		timeout := time.After(eventTimeout)
		for range watchers {
			select {
			case at := <-received:
				times = append(times, measure.Response{Total: at.Sub(begin)})
			case err := <-failed:
				return nil, fmt.Errorf("reading an event: %w", err)
			case <-timeout:
				return nil, fmt.Errorf("%d of %d watchers have not received an event after %s", watchers-len(times),
					watchers, eventTimeout)
			}
		}
		return times, nil
	}
	// The first one is not measured: all watches have begun then.
	if _, err := deliver(-1); err != nil {
		return fail(err)
	}
	s, err := r.environment.measure(t, func() ([]measure.Response, int, error) {
		var all []measure.Response
		for i := range r.Options.Events {
			times, err := deliver(i)
			if err != nil {
				return nil, 0, err
			}
			all = append(all, times...)
		}
		return all, len(all), nil
	})
	if err != nil {
		return fail(err)
	}
	r.records.add(operation, t.name, s)
	cancel()
	if _, err := t.client.Do(context.WithoutCancel(ctx), 0,
		measure.Request{Method: http.MethodDelete, Path: t.path(t.namespace, name, ""), Accept: t.media}); err != nil {
		return fail(err)
	}
	return nil
}

// resourceVersion returns the resource version of an object.
func (t *target) resourceVersion(ctx context.Context, name string) (string, error) {
	body, err := t.client.Read(ctx, measure.Request{Method: http.MethodGet, Path: t.path(t.namespace, name, ""),
		Accept: measure.JSON})
	if err != nil {
		return "", err
	}
	var found struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &found); err != nil {
		return "", fmt.Errorf("decoding %s: %w", name, err)
	}
	return found.Metadata.ResourceVersion, nil
}

// initialEventsEnd is in the bookmark that follows the initial events.
var initialEventsEnd = []byte("k8s.io/initial-events-end")

// watchList measures the start of an informer that streams its list.
func (r *run) watchList(ctx context.Context, t *target) error {
	operation := fmt.Sprintf("WatchList of %d", r.Options.Websites*len(dataNamespaces))
	s, err := r.environment.measure(t, func() ([]measure.Response, int, error) {
		one, err := t.streamList(ctx)
		return []measure.Response{one}, 1, err
	})
	if err != nil {
		return fmt.Errorf("%s: %s: %w", t.name, operation, err)
	}
	r.records.add(operation, t.name, s)
	return nil
}

// streamList watches from the initial events to the bookmark at their end.
func (t *target) streamList(ctx context.Context) (measure.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	begin := time.Now()
	resp, err := t.watch(ctx, 0, "", url.Values{"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"},
		"allowWatchBookmarks": {"true"}})
	if err != nil {
		return measure.Response{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var done measure.Response
	for events := newEvents(resp.Body, t.media); ; {
		event, err := events.next()
		if err != nil {
			return done, fmt.Errorf("reading an event: %w", err)
		}
		done.Bytes += int64(len(event))
		done.Total = time.Since(begin)
		if done.FirstByte == 0 {
			done.FirstByte = done.Total
		}
		if bytes.Contains(event, initialEventsEnd) {
			return done, nil
		}
	}
}
