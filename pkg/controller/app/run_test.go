package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/discovery"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/controller/website"
)

func websites(n int) []v1beta1.Website {
	var all []v1beta1.Website
	for i := range n {
		all = append(all, newWebsite(fmt.Sprintf("site-%d", i)))
	}
	return all
}

// TestWorkers keeps the API server from responding until as many Websites are reconciled concurrently
// as the flag allows.
func TestWorkers(t *testing.T) {
	t.Parallel()
	const workers = 8 // More than the default.
	var mu sync.Mutex
	inFlight, most, done := 0, 0, sets.New[string]()
	busy, release, all := make(chan struct{}), make(chan struct{}), make(chan struct{})
	allBusy, allDone := sync.OnceFunc(func() { close(busy) }), sync.OnceFunc(func() { close(all) })
	server := &apiServer{websites: websites(2 * workers)}
	server.first = func(_ http.ResponseWriter, r *http.Request, info *request.RequestInfo) bool {
		// The first request of a reconciliation.
		if info.Verb != "get" || info.Resource != "deployments" {
			return false
		}
		mu.Lock()
		inFlight++
		if most = max(most, inFlight); most == workers {
			allBusy()
		}
		mu.Unlock()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		mu.Lock()
		defer mu.Unlock()
		inFlight--
		if done.Insert(info.Name).Len() == 2*workers {
			allDone()
		}
		return false
	}
	o := server.newOptions(t, func(o *options.Options) { o.ConcurrentSyncs = workers })
	startInstrumented(t, o, Instruments{})
	await(t, "as many Websites are worked on at once as there are workers", busy)
	close(release)
	await(t, "every Website has been reconciled", all)
	mu.Lock()
	defer mu.Unlock()
	if most != workers {
		t.Errorf("%d Websites were worked on at once, want %d", most, workers)
	}
}

// TestRejectedWebsitesHoldNoWorker has a webhook reject the writes of more Websites than there are
// workers, each with a Retry-After of a minute.
func TestRejectedWebsitesHoldNoWorker(t *testing.T) {
	t.Parallel()
	const workers = 2
	var mu sync.Mutex
	refused, all := sets.New[string](), make(chan struct{})
	allRefused := sync.OnceFunc(func() { close(all) })
	server := &apiServer{websites: websites(workers + 1)}
	server.first = func(w http.ResponseWriter, _ *http.Request, info *request.RequestInfo) bool {
		if info.Verb != "patch" {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if refused.Insert(info.Name).Len() == workers+1 {
			allRefused()
		}
		w.Header().Set("Retry-After", "60")
		refuse(w, apierrors.NewTooManyRequests(`admission webhook "quota.example.com" denied the request: later`, 60))
		return true
	}
	o := server.newOptions(t, func(o *options.Options) { o.ConcurrentSyncs = workers })
	startInstrumented(t, o, Instruments{})
	await(t, "every Website has had its turn", all)
}

// TestResync uses an unchanged Website, which only a resync reconciles again.
func TestResync(t *testing.T) {
	t.Parallel()
	website := newWebsite("kubia")
	website.DeletionTimestamp, website.Finalizers = &metav1.Time{Time: time.Now()}, []string{"foregroundDeletion"}
	reconciles := &reconcileCounter{second: make(chan struct{})}
	server := &apiServer{websites: []v1beta1.Website{website}}
	o := server.newOptions(t, func(o *options.Options) { o.MinResyncPeriod.Duration = time.Second })
	startInstrumented(
		t, o, Instruments{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(reconciles))},
	)
	await(t, "the Website is reconciled again", reconciles.second)
}

// reconcileCounter counts the spans of reconciliations.
type reconcileCounter struct {
	sdktrace.SpanProcessor
	mu     sync.Mutex
	n      int
	second chan struct{}
}

func (c *reconcileCounter) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (c *reconcileCounter) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.Name() != website.SpanReconcile {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n == 2 {
		close(c.second)
	}
}

// TestHealth requests the health endpoints of a controller before and after its informers can list
// pods.
func TestHealth(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := &apiServer{}
	server.first = func(_ http.ResponseWriter, r *http.Request, info *request.RequestInfo) bool {
		if info.Verb == "list" && info.Resource == "pods" {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return false
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := server.newOptions(t, func(o *options.Options) {
		o.LeaderElection.LeaderElect = true
		o.SecureServing.Listener = listener
		o.Authentication.SkipInClusterLookup = true
		o.Authentication.RemoteKubeConfigFileOptional = true
		o.Authorization.RemoteKubeConfigFileOptional = true
	})
	startInstrumented(t, o, Instruments{})

	client := &http.Client{Timeout: patience,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	get := func(path string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listener.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	if code, body := get("/readyz"); code != http.StatusInternalServerError ||
		!strings.Contains(body, "[-]informer-sync failed") {
		t.Errorf("/readyz while the informers wait: %d %s, want informer-sync to have failed", code, body)
	}
	for _, path := range []string{"/livez", "/healthz"} {
		if code, body := get(path + "?verbose"); code != http.StatusOK || !strings.Contains(body, "[+]leaderElection ok") {
			t.Errorf("%s while the informers wait: %d %s, want leaderElection to pass", path, code, body)
		}
	}
	close(release)
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			code, body := get("/readyz?verbose")
			return code == http.StatusOK && strings.Contains(body, "[+]informer-sync ok"), nil
		})
	if err != nil {
		t.Errorf("/readyz once the informers see everything: %v", err)
	}
}

// TestWaitForAPI starts the controller before the API of Websites is served.
func TestWaitForAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &lateAPI{served: time.Now().Add(time.Minute)}
		if err := waitForAPI(t.Context(), client); err != nil || time.Now().Before(client.served) ||
			time.Since(client.served) > apiPollInterval {
			t.Errorf("waitForAPI returned %v %s after the API was served", err, time.Since(client.served))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		client.served = time.Now().Add(time.Hour)
		if err := waitForAPI(ctx, client); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waitForAPI of a process that ends returned %v", err)
		}
	})
}

// lateAPI serves an API from a given time.
type lateAPI struct {
	discovery.ServerResourcesInterface
	served time.Time
}

func (a *lateAPI) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	if time.Now().Before(a.served) {
		return nil, errors.New("the server could not find the requested resource")
	}
	return &metav1.APIResourceList{}, nil
}
