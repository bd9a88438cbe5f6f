package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Media types of bodies.
const (
	jsonType   = "application/json"
	mergePatch = "application/merge-patch+json"
)

// client sends requests over client-go's transport. It is the load, so it does no more than it
// must.
type client struct {
	url  string
	http *http.Client
}

func newClient(config *rest.Config) (*client, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a transport: %w", err)
	}
	return &client{url: config.Host, http: transport}, nil
}

// open sends a request. The caller closes the body of the response.
func (c *client) open(ctx context.Context, method, url, contentType string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("creating a request: %w", err)
	}
	request.Header.Set("User-Agent", "website-bench")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		defer func() { _ = response.Body.Close() }()
		message, _ := io.ReadAll(io.LimitReader(response.Body, 2000))
		return nil, fmt.Errorf("%s %s: %s: %s", method, url, response.Status, message)
	}
	return response, nil
}

// do sends a request to the API server and returns the body of the response.
func (c *client) do(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	return c.fetch(ctx, method, c.url+path, contentType, body)
}

// fetch is do with a URL.
func (c *client) fetch(ctx context.Context, method, url, contentType string, body []byte) ([]byte, error) {
	response, err := c.open(ctx, method, url, contentType, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: reading the response: %w", method, url, err)
	}
	return data, nil
}
