package podprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// Mode is how the ports of pods are reached.
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
	// requestTimeout is for one request: the answer is a line from a server in
	// the same cluster.
	requestTimeout = 3 * time.Second
	// maxBody bounds what is read of an answer. The longest is git-sync's
	// metrics, some kilobytes.
	maxBody = 256 << 10
	// logLines and maxLog bound what is read of a log.
	logLines = 40
	maxLog   = 32 << 10
	// reasonEvicted is that of the kubelet's event.
	reasonEvicted = "Evicted"
)

// Client reaches the pods that a Prober probes.
type Client interface {
	// Get returns the status code and the body of an answer.
	Get(ctx context.Context, pod *corev1.Pod, port int32, path string) (int, []byte, error)
	// Log returns the end of the log of git-sync.
	Log(ctx context.Context, pod *corev1.Pod) (string, error)
	// Eviction returns why the kubelet has evicted a pod, as its event says; it is
	// empty when there is no such event.
	Eviction(ctx context.Context, pod *corev1.Pod) (string, error)
}

// errTooLong is an answer that no website pod gives.
var errTooLong = fmt.Errorf("the answer is longer than %d bytes", maxBody)

// httpClient probes over HTTP.
type httpClient struct {
	client *http.Client
	// url returns the URL of a path on a port of a pod.
	url  func(pod *corev1.Pod, port int32, path string) string
	kube kubernetes.Interface
}

// NewClient returns a client that reaches pods in a mode. The configuration is that of the
// API server, which PodProxy goes through; logs are read by kube.
func NewClient(mode Mode, config *rest.Config, kube kubernetes.Interface) (Client, error) {
	switch mode {
	case Direct:
		return &httpClient{kube: kube, client: directClient(), url: directURL}, nil
	case PodProxy:
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("making a client for the pod proxy: %w", err)
		}
		client.CheckRedirect = refuseRedirect
		client.Timeout = requestTimeout
		base, _, err := rest.DefaultServerUrlFor(config)
		if err != nil {
			return nil, fmt.Errorf("finding the API server for the pod proxy: %w", err)
		}
		return &httpClient{kube: kube, client: client, url: proxyURL(base)}, nil
	default:
		return nil, fmt.Errorf("pods cannot be reached in mode %q", mode)
	}
}

// directClient has nothing of the default client that a pod could make use of:
// no proxy from the environment, no redirects, no cookies, no long answers.
func directClient() *http.Client {
	return &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: refuseRedirect,
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: requestTimeout}).DialContext,
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true,
			// A pod gets three requests in a row, and then none for a while.
			MaxIdleConnsPerHost: 1,
			IdleConnTimeout:     requestTimeout,
		},
	}
}

func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func directURL(pod *corev1.Pod, port int32, path string) string {
	return "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port))) + path
}

func proxyURL(base *url.URL) func(*corev1.Pod, int32, string) string {
	return func(pod *corev1.Pod, port int32, path string) string {
		return base.JoinPath("api/v1/namespaces", pod.Namespace, "pods", fmt.Sprintf("%s:%d", pod.Name, port), "proxy", path).String()
	}
}

// Get makes a request to a pod.
func (c *httpClient) Get(ctx context.Context, pod *corev1.Pod, port int32, path string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(pod, port, path), nil)
	if err != nil {
		return 0, nil, fmt.Errorf("probing pod %q: %w", pod.Name, err)
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
		return 0, nil, fmt.Errorf("probing pod %q for %s: %w", pod.Name, path, errTooLong)
	}
	return response.StatusCode, body, nil
}

// Log reads the end of the log of git-sync.
func (c *httpClient) Log(ctx context.Context, pod *corev1.Pod) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	stream, err := c.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container:  resources.GitSyncContainer,
		TailLines:  ptr.To[int64](logLines),
		LimitBytes: ptr.To[int64](maxLog),
	}).Stream(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of git-sync in pod %q: %w", pod.Name, err)
	}
	defer func() { _ = stream.Close() }()
	log, err := io.ReadAll(io.LimitReader(stream, maxLog))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", fmt.Errorf("reading the log of git-sync in pod %q: %w", pod.Name, err)
	}
	return string(log), nil
}

// Eviction reads the event of the kubelet.
func (c *httpClient) Eviction(ctx context.Context, pod *corev1.Pod) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	events, err := c.kube.EventsV1().Events(pod.Namespace).List(ctx, metav1.ListOptions{
		// Not a fields.Set, whose order is that of a map: equal requests are to look equal.
		FieldSelector: fields.AndSelectors(
			fields.OneTermEqualSelector("regarding.uid", string(pod.UID)),
			fields.OneTermEqualSelector("reason", reasonEvicted),
		).String(),
	})
	if err != nil {
		return "", fmt.Errorf("listing the events of pod %q: %w", pod.Name, err)
	}
	for _, event := range events.Items {
		if event.Note != "" {
			return event.Note, nil
		}
	}
	return "", nil
}
