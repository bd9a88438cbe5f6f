package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	typed "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// syncClient requests syncs of a Website of one server.
type syncClient struct {
	client   *http.Client
	url      string
	websites typed.WebsiteInterface
}

func newSyncClient(t *testing.T, s *framework.Server, namespace string) syncClient {
	t.Helper()
	config := s.Config(t)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return syncClient{
		client:   client,
		url:      config.Host + "/apis/mycontroller.nevermosby.io/v1beta1/namespaces/" + namespace + "/websites/kubia/sync",
		websites: framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace),
	}
}

// reply is the response to a request.
type reply struct {
	code       int
	retryAfter string
	body       string
	err        error
}

func (c syncClient) post(ctx context.Context, query string) reply {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+query, bytes.NewReader(nil))
	if err != nil {
		return reply{err: err}
	}
	response, err := c.client.Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header.Get("Retry-After"), string(body), err}
}

// wait posts with a wait, and returns when the request is recorded.
func (c syncClient) wait(ctx context.Context, t *testing.T) <-chan reply {
	t.Helper()
	replies := make(chan reply, 1)
	go func() { replies <- c.post(ctx, "?timeoutSeconds=300") }()
	framework.WaitFor(t, "the request is recorded", func(ctx context.Context) error {
		if w, err := c.websites.Get(ctx, "kubia", metav1.GetOptions{}); err != nil || w.Status.Sync == nil {
			return fmt.Errorf("no request: %w", err)
		}
		return nil
	})
	return replies
}

// longRunning returns the number of waiting requests at a server.
func longRunning(ctx context.Context, t *testing.T, s *framework.Server) (float64, error) {
	code, body, err := framework.SecureGet(ctx, t, s.URL+"/metrics", true)
	if err != nil || code != http.StatusOK {
		return 0, fmt.Errorf("%d %w", code, err)
	}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "apiserver_longrunning_requests{") && strings.Contains(line, `subresource="sync"`) {
			var n float64
			_, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &n)
			return n, err
		}
	}
	return 0, errors.New("no such series")
}

// TestShutdownEndsSyncWaits: a wait of five minutes does not delay a server's shutdown, and its
// client gets 503 with Retry-After.
func TestShutdownEndsSyncWaits(t *testing.T) {
	t.Parallel()
	namespace, s := framework.NewNamespace(t), framework.NewServer(t)
	c := newSyncClient(t, s, namespace)
	if _, err := c.websites.Create(t.Context(), framework.NewWebsite(namespace, "kubia"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	replies := c.wait(t.Context(), t)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if r := <-replies; r.err != nil || r.code != http.StatusServiceUnavailable || r.retryAfter == "" ||
		!strings.Contains(r.body, "repeat it to wait on") {
		t.Errorf("the wait ended with %+v, want 503 and Retry-After", r)
	}
	if exit, err := s.Wait(t.Context()); err != nil || exit.Code != 0 {
		t.Errorf("SIGTERM ended the server with %+v (%v), want exit code 0", exit, err)
	}
}

// TestDisconnectEndsSyncWaits: a disconnected client releases its place.
func TestDisconnectEndsSyncWaits(t *testing.T) {
	t.Parallel()
	namespace, s := framework.NewNamespace(t), framework.NewServer(t)
	c := newSyncClient(t, s, namespace)
	if _, err := c.websites.Create(t.Context(), framework.NewWebsite(namespace, "kubia"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	replies := c.wait(ctx, t)
	waits := func(want float64) func(context.Context) error {
		return func(ctx context.Context) error {
			if got, err := longRunning(ctx, t, s); err != nil || got != want {
				return fmt.Errorf("%v requests wait (%w)", got, err)
			}
			return nil
		}
	}
	framework.WaitFor(t, "the request waits", waits(1))
	leave()
	if r := <-replies; !errors.Is(r.err, context.Canceled) {
		t.Errorf("the client that left got %+v", r)
	}
	framework.WaitFor(t, "no request waits", waits(0))
}

// TestSyncWithTwoReplicas requests a sync at one replica that the other one has recorded, and
// reports the result, for which the first one waits, at the other one.
func TestSyncWithTwoReplicas(t *testing.T) {
	t.Parallel()
	namespace, first := framework.NewNamespace(t), framework.NewServer(t)
	var record string
	for _, arg := range first.Args() {
		if strings.HasPrefix(arg, "--store-record-namespace=") {
			record = arg
		}
	}
	flags := []string{"--etcd-servers=" + first.Store.Endpoint, record}
	if framework.Cluster.HasExternalEtcd() {
		flags = flagsOfStore(first)
	}
	second := &framework.Server{Store: first.Store}
	var err error
	if second.Process, second.URL, err = framework.Cluster.StartAPIServer(t.Context(), "apiserver-second-replica",
		flags...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := second.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.WaitOpen(t)

	here, there := newSyncClient(t, first, namespace), newSyncClient(t, second, namespace)
	if _, err := here.websites.Create(t.Context(), framework.NewWebsite(namespace, "kubia"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	replies := here.wait(t.Context(), t)
	recorded, err := here.websites.Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	joined := v1beta1.WebsiteSyncRequest{}
	r := there.post(t.Context(), "")
	if err := json.Unmarshal([]byte(r.body), &joined); err != nil || r.code != http.StatusAccepted ||
		joined.ID != recorded.Status.Sync.LastRequest.ID {
		t.Errorf("the other replica answered %+v, want the request that it joined", r)
	}
	requested := recorded.Status.Sync.LastRequest.ID
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"sync": map[string]any{"startedID": requested,
		"lastCompleted": v1beta1.WebsiteSyncCompletion{
			ID: requested, Time: metav1.Now(), Result: v1beta1.SyncSucceeded,
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := there.websites.Patch(t.Context(), "kubia", types.MergePatchType, patch, metav1.PatchOptions{},
		"status"); err != nil {
		t.Fatal(err)
	}
	if r := <-replies; r.err != nil || r.code != http.StatusOK {
		t.Errorf("the first replica answered %+v, want 200", r)
	}
}
