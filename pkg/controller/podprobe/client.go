package podprobe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// Mode is the way to reach the ports of pods.
type Mode string

const (
	// Direct probes the addresses of pods. It needs a network from the
	// controller to the pods, which a controller within the cluster has.
	Direct Mode = "Direct"
	// PodProxy probes through the API server, which requires get on pods/proxy.
	PodProxy Mode = "PodProxy"
	// None disables probing.
	None Mode = "None"
)

const (
	// dialTimeout is for the connection to a pod: in a cluster that takes milliseconds, and a lost
	// packet is sent again within a second.
	dialTimeout = 1200 * time.Millisecond
	// requestTimeout is for one request to a pod: the response is a line from a server in the same
	// cluster.
	requestTimeout = 2 * time.Second
	// apiTimeout is for one request to the API server, which may have to reach the pod or its node.
	apiTimeout = 3 * time.Second
	// maxBody limits the size of a response. Without branches it has some hundred bytes.
	maxBody = 128 << 10
)

// Client reaches the pods that a Prober probes.
type Client interface {
	// Get returns the status code and the body of an answer.
	Get(ctx context.Context, pod *cached.Pod, request Request) (int, []byte, error)
}

// Request is a request to a pod.
type Request struct {
	Port  int32
	Path  string
	Query url.Values
	// Signature is the value of requests.Header, or empty.
	Signature string
	// Wait is the time that the pod may take in addition to the usual timeout.
	Wait time.Duration
}

// errTooLong is a response that no website pod sends.
var errTooLong = fmt.Errorf("the answer is longer than %d bytes", maxBody)

// httpClient probes over HTTP.
type httpClient struct {
	client *http.Client
	// timeout is for a request that is answered immediately.
	timeout time.Duration
	// url returns the URL of a path on a port of a pod.
	url func(pod *cached.Pod, request Request) string
}

// NewClient returns a client that reaches pods in a mode. PodProxy uses the API server of the
// configuration.
func NewClient(mode Mode, config *rest.Config) (Client, error) {
	switch mode {
	case Direct:
		return &httpClient{client: directClient(), timeout: requestTimeout, url: directURL}, nil
	case PodProxy:
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("making a client for the pod proxy: %w", err)
		}
		client.CheckRedirect = refuseRedirect
		base, _, err := rest.DefaultServerUrlFor(config)
		if err != nil {
			return nil, fmt.Errorf("finding the API server for the pod proxy: %w", err)
		}
		return &httpClient{client: client, timeout: apiTimeout, url: proxyURL(base)}, nil
	default:
		return nil, fmt.Errorf("pods cannot be reached in mode %q", mode)
	}
}

// directClient disables the features of the default client that a pod could abuse: it uses no proxy
// from the environment, no redirects, no cookies and no long responses.
func directClient() *http.Client {
	return &http.Client{
		CheckRedirect: refuseRedirect,
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true,
			// A pod gets one or two requests, and then none for a while.
			MaxIdleConnsPerHost: 1,
			IdleConnTimeout:     requestTimeout,
		},
	}
}

func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func directURL(pod *cached.Pod, request Request) string {
	target := url.URL{
		Scheme: "http", Host: net.JoinHostPort(pod.PodIP, strconv.Itoa(int(request.Port))),
		Path: request.Path, RawQuery: request.Query.Encode(),
	}
	return target.String()
}

func proxyURL(base *url.URL) func(*cached.Pod, Request) string {
	return func(pod *cached.Pod, request Request) string {
		target := base.JoinPath("api/v1/namespaces", pod.Namespace, "pods", fmt.Sprintf("%s:%d", pod.Name, request.Port),
			"proxy", request.Path)
		target.RawQuery = request.Query.Encode()
		return target.String()
	}
}

// Get makes a request to a pod.
func (c *httpClient) Get(ctx context.Context, pod *cached.Pod, what Request) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+what.Wait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(pod, what), nil)
	if err != nil {
		return 0, nil, fmt.Errorf("probing pod %q: %w", pod.Name, err)
	}
	if what.Signature != "" {
		request.Header.Set(requests.Header, what.Signature)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("probing pod %q: %w", pod.Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return 0, nil, fmt.Errorf("reading the answer of pod %q: %w", pod.Name, err)
	}
	if len(body) > maxBody {
		return 0, nil, fmt.Errorf("probing pod %q for %s: %w", pod.Name, what.Path, errTooLong)
	}
	return response.StatusCode, body, nil
}
