package measure

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
	"sigs.k8s.io/yaml"
)

// The media types of bodies.
const (
	JSON       = "application/json"
	Protobuf   = "application/vnd.kubernetes.protobuf"
	Table      = "application/json;as=Table;v=v1;g=meta.k8s.io"
	MergePatch = "application/merge-patch+json"
	ApplyPatch = "application/apply-patch+yaml"
)

// Client sends requests over client-go's transports, but encodes and decodes nothing, so
// that it takes as little as possible of the CPU time that servers need.
type Client struct {
	// URL precedes the path of a request.
	URL string
	// transports have a connection each.
	transports []http.RoundTripper
	// Received and Sent count the bytes on the connections.
	Received, Sent atomic.Int64
}

// NewClient returns a client with connections of its own.
func NewClient(config *rest.Config, connections int) (*Client, error) {
	c := &Client{URL: config.Host}
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
	client *Client
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.client.Received.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.client.Sent.Add(int64(n))
	return n, err
}

// Request is one request to an API server.
type Request struct {
	Method, Path string
	Body         []byte
	ContentType  string
	Accept       string
	Gzip         bool
}

// Response has the size and times of a response whose body was discarded.
type Response struct {
	FirstByte, Total time.Duration
	Bytes            int64
}

// Send sends a request on one of the connections.
func (c *Client) Send(ctx context.Context, connection int, r Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, c.URL+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("creating a request: %w", err)
	}
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	req.Header.Set("User-Agent", "website-bench")
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	// Set in any case, or the transport asks for gzip and decompresses.
	req.Header.Set("Accept-Encoding", "identity")
	if r.Gzip {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	resp, err := c.transports[connection%len(c.transports)].RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer func() { _ = resp.Body.Close() }()
		message, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		return nil, fmt.Errorf("%s %s: %s: %s", r.Method, r.Path, resp.Status, strings.ToValidUTF8(string(message), "?"))
	}
	return resp, nil
}

// Do sends a request and discards the body of the response.
func (c *Client) Do(ctx context.Context, connection int, r Request) (Response, error) {
	begin := time.Now()
	resp, err := c.Send(ctx, connection, r)
	if err != nil {
		return Response{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var first [1]byte
	n, err := io.ReadFull(resp.Body, first[:])
	done := Response{FirstByte: time.Since(begin)}
	if err != nil {
		return done, fmt.Errorf("%s %s: reading the response: %w", r.Method, r.Path, err)
	}
	rest, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		return done, fmt.Errorf("%s %s: reading the response: %w", r.Method, r.Path, err)
	}
	done.Total, done.Bytes = time.Since(begin), int64(n)+rest
	return done, nil
}

// Read sends a request and returns the body of the response.
func (c *Client) Read(ctx context.Context, r Request) ([]byte, error) {
	resp, err := c.Send(ctx, 0, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: reading the response: %w", r.Method, r.Path, err)
	}
	return body, nil
}

// LiveHeap returns the bytes on the heap of a server after a garbage collection. base precedes the path of the profile.
func (c *Client) LiveHeap(ctx context.Context, base string) (int64, error) {
	profile, err := c.Read(ctx, Request{Method: http.MethodGet, Path: base + "/debug/pprof/heap?gc=1&debug=1"})
	if err != nil {
		return 0, err
	}
	return liveHeap(profile)
}

// CreateNamespace creates a namespace.
func (c *Client) CreateNamespace(ctx context.Context, name string) error {
	body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
	return c.post(ctx, "/api/v1/namespaces", body)
}

// CreateDefinition creates a CustomResourceDefinition. Its API follows a little later.
func (c *Client) CreateDefinition(ctx context.Context, definition []byte) error {
	body, err := yaml.YAMLToJSON(definition)
	if err != nil {
		return fmt.Errorf("decoding the CustomResourceDefinition: %w", err)
	}
	return c.post(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
}

func (c *Client) post(ctx context.Context, path string, body []byte) error {
	_, err := c.Read(ctx, Request{Method: http.MethodPost, Path: path, Body: body, ContentType: JSON, Accept: JSON})
	return err
}
