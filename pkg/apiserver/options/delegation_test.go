package options

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/metrics"
)

// reviews answers TokenReviews and SubjectAccessReviews: everybody may do everything.
type reviews struct {
	tokens, accesses atomic.Int32
	// took is how long an answer takes.
	took time.Duration
}

func (r *reviews) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	time.Sleep(r.took)
	w.Header().Set("Content-Type", "application/json")
	switch request.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		r.tokens.Add(1)
		fmt.Fprint(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":true,"user":{"username":"u"}}}`)
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		r.accesses.Add(1)
		fmt.Fprint(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`)
	default:
		http.NotFound(w, request)
	}
}

// newConfig returns the configuration of a server whose host cluster is handler.
func newConfig(t testing.TB, handler http.Handler) *genericapiserver.RecommendedConfig {
	t.Helper()
	host := newHost(t, handler)
	o, err := parse(t, "--kubeconfig="+host, "--authentication-kubeconfig="+host, "--authorization-kubeconfig="+host,
		"--authentication-tolerate-lookup-failure", "--etcd-servers=http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	o.Recommended.SecureServing.Listener = listener
	config, err := o.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return config.GenericConfig
}

func read(path string) authorizer.Attributes {
	return authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "u"}, Verb: "get", Path: path}
}

// waits counts the requests that pass a rate limiter of client-go.
type waits struct{ atomic.Int32 }

func (w *waits) Observe(context.Context, string, url.URL, time.Duration) { w.Add(1) }

func TestDelegationHasNoClientSideLimit(t *testing.T) {
	var host reviews
	config := newConfig(t, &host)
	var limited waits
	before := metrics.RateLimiterLatency
	metrics.RateLimiterLatency = &limited
	t.Cleanup(func() { metrics.RateLimiterLatency = before })

	if decision, _, err := config.Authorization.Authorizer.Authorize(t.Context(), read("/a")); decision != authorizer.DecisionAllow || err != nil {
		t.Errorf("authorization = %v (%v), want it allowed", decision, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer x")
	if response, ok, err := config.Authentication.Authenticator.AuthenticateRequest(request); err != nil || !ok || response.User.GetName() != "u" {
		t.Errorf("authentication = %+v, %t (%v), want the user u", response, ok, err)
	}
	if host.tokens.Load() != 1 || host.accesses.Load() != 1 {
		t.Errorf("the host got %d TokenReviews and %d SubjectAccessReviews, want one each", host.tokens.Load(), host.accesses.Load())
	}
	if got := limited.Load(); got != 0 {
		t.Errorf("%d requests went through a rate limiter of the client, want none", got)
	}
}

// BenchmarkAuthorizationDuringAFlood reports how long authorization takes while another
// client requests distinct paths as fast as it can.
func BenchmarkAuthorizationDuringAFlood(b *testing.B) {
	config := newConfig(b, &reviews{took: 5 * time.Millisecond})
	authorize := func(path string) {
		if _, _, err := config.Authorization.Authorizer.Authorize(b.Context(), read(path)); err != nil && b.Context().Err() == nil {
			b.Error(err)
		}
	}
	ctx, stop := context.WithCancel(b.Context())
	var flood sync.WaitGroup
	var paths, took = atomic.Int64{}, []time.Duration{}
	for range 400 {
		flood.Go(func() {
			for ctx.Err() == nil {
				authorize(fmt.Sprintf("/flood/%d", paths.Add(1)))
			}
		})
	}
	for b.Loop() {
		started := time.Now()
		authorize(fmt.Sprintf("/other/%d", len(took)))
		took = append(took, time.Since(started))
	}
	stop()
	flood.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
	b.ReportMetric(float64(paths.Load())/b.Elapsed().Seconds(), "flood/s")
}
