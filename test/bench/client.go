package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Media types of bodies.
const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
	tableType    = "application/json;as=Table;v=v1;g=meta.k8s.io"
	mergePatch   = "application/merge-patch+json"
	applyPatch   = "application/apply-patch+yaml"
)

// client sends requests over client-go's transports, but encodes and decodes nothing, so
// that it takes as little as possible of the CPU time that servers need.
type client struct {
	url string
	// transports have a connection each.
	transports []http.RoundTripper
	received   atomic.Int64
	sent       atomic.Int64
}

func newClient(config *rest.Config, connections int) (*client, error) {
	c := &client{url: config.Host}
	for range connections {
		config := rest.CopyConfig(config)
		dialer := &net.Dialer{Timeout: 10 * time.Second}
		// client-go shares the connections of equal configurations, but not with an own Dial.
		config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: conn, client: c}, nil
		}
		transport, err := rest.TransportFor(config)
		if err != nil {
			return nil, fmt.Errorf("creating a transport: %w", err)
		}
		c.transports = append(c.transports, transport)
	}
	return c, nil
}

// countedConn counts the bytes of a connection, encrypted as they are.
type countedConn struct {
	net.Conn
	client *client
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.client.received.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.client.sent.Add(int64(n))
	return n, err
}

// request is one request to an API server.
type request struct {
	method, path string
	body         []byte
	contentType  string
	accept       string
	gzip         bool
}

// response is what is known of a response whose body was discarded.
type response struct {
	firstByte, total time.Duration
	bytes            int64
}

// send sends a request on one of the connections.
func (c *client) send(ctx context.Context, connection int, r request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.url+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("creating a request: %w", err)
	}
	req.Header.Set("Accept", r.accept)
	req.Header.Set("User-Agent", "website-bench")
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	// Set in any case, or the transport asks for gzip and decompresses.
	req.Header.Set("Accept-Encoding", "identity")
	if r.gzip {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	resp, err := c.transports[connection%len(c.transports)].RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer func() { _ = resp.Body.Close() }()
		message, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		return nil, fmt.Errorf("%s %s: %s: %s", r.method, r.path, resp.Status, strings.ToValidUTF8(string(message), "?"))
	}
	return resp, nil
}

// do sends a request and discards the body of the response.
func (c *client) do(ctx context.Context, connection int, r request) (response, error) {
	begin := time.Now()
	resp, err := c.send(ctx, connection, r)
	if err != nil {
		return response{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var first [1]byte
	n, err := io.ReadFull(resp.Body, first[:])
	done := response{firstByte: time.Since(begin)}
	if err != nil {
		return done, fmt.Errorf("%s %s: reading the response: %w", r.method, r.path, err)
	}
	rest, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		return done, fmt.Errorf("%s %s: reading the response: %w", r.method, r.path, err)
	}
	done.total, done.bytes = time.Since(begin), int64(n)+rest
	return done, nil
}

// read sends a request and returns the body of the response.
func (c *client) read(ctx context.Context, r request) ([]byte, error) {
	resp, err := c.send(ctx, 0, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: reading the response: %w", r.method, r.path, err)
	}
	return body, nil
}
