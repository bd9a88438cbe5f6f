package options

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/tools/metrics"
	certutil "k8s.io/client-go/util/cert"
)

// reviews answers TokenReviews and SubjectAccessReviews: every user is permitted everything.
type reviews struct {
	tokens, accesses atomic.Int32
	// took is the duration of an answer.
	took time.Duration
}

func (r *reviews) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	time.Sleep(r.took)
	w.Header().Set("Content-Type", "application/json")
	switch request.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		r.tokens.Add(1)
		fmt.Fprint(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":true,`+
			`"user":{"username":"u"}}}`)
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

	if decision, _, err := config.Authorization.Authorizer.Authorize(t.Context(),
		read("/a")); decision != authorizer.DecisionAllow || err != nil {
		t.Errorf("authorization = %v (%v), want it allowed", decision, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer x")
	if response, ok, err := config.Authentication.Authenticator.AuthenticateRequest(request); err != nil || !ok ||
		response.User.GetName() != "u" {
		t.Errorf("authentication = %+v, %t (%v), want the user u", response, ok, err)
	}
	if host.tokens.Load() != 1 || host.accesses.Load() != 1 {
		t.Errorf("the host got %d TokenReviews and %d SubjectAccessReviews, want one each", host.tokens.Load(),
			host.accesses.Load())
	}
	if got := limited.Load(); got != 0 {
		t.Errorf("%d requests went through a rate limiter of the client, want none", got)
	}
}

// newClientCertificate returns a certificate signed by a CA of its own, and that CA.
func newClientCertificate(t *testing.T) (*x509.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "ca"}, key)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "front-proxy"}, NotBefore: ca.NotBefore,
		NotAfter:    ca.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return client, pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: ca.Raw})
}

// TestFrontProxy: the user of a request that names one.
func TestFrontProxy(t *testing.T) {
	proxy, ca := newClientCertificate(t)
	stranger, _ := newClientCertificate(t)
	content, err := dynamiccertificates.NewStaticCAContent("proxy", ca)
	if err != nil {
		t.Fatal(err)
	}
	o, err := parse(t, "--authentication-kubeconfig="+unreachableHost(t), "--etcd-servers=http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	info := &genericapiserver.AuthenticationInfo{RequestHeaderConfig: &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   content,
		UsernameHeaders:     headerrequest.StaticStringSlice{"X-Remote-User"},
		UIDHeaders:          headerrequest.StaticStringSlice{},
		GroupHeaders:        headerrequest.StaticStringSlice{"X-Remote-Group"},
		ExtraHeaderPrefixes: headerrequest.StaticStringSlice{},
		AllowedClientNames:  headerrequest.StaticStringSlice{"front-proxy"},
	}}
	if err := o.replaceAuthenticator(info); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		certificates []*x509.Certificate
		// user is empty if the request is rejected.
		user   string
		groups []string
	}{
		"the proxy":              {[]*x509.Certificate{proxy}, "u", []string{"g", user.AllAuthenticated}},
		"no certificate":         {nil, user.Anonymous, []string{user.AllUnauthenticated}},
		"a certificate not ours": {[]*x509.Certificate{stranger}, "", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost/", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header = http.Header{"X-Remote-User": {"u"}, "X-Remote-Group": {"g"}}
			request.TLS = &tls.ConnectionState{PeerCertificates: test.certificates}
			got, ok, err := info.Authenticator.AuthenticateRequest(request)
			switch {
			case test.user == "":
				if ok || err == nil {
					t.Errorf("authenticated as %+v, want an error", got)
				}
			case err != nil || !ok || got.User.GetName() != test.user || !slices.Equal(got.User.GetGroups(), test.groups):
				t.Errorf("got %+v, %t (%v), want %s of %v", got, ok, err, test.user, test.groups)
			}
		})
	}
}

// BenchmarkAuthorizationDuringAFlood reports the duration of authorization while
// another client requests distinct paths as fast as it can.
func BenchmarkAuthorizationDuringAFlood(b *testing.B) {
	config := newConfig(b, &reviews{took: 5 * time.Millisecond})
	authorize := func(path string) {
		if _, _, err := config.Authorization.Authorizer.Authorize(b.Context(), read(path)); err != nil &&
			b.Context().Err() == nil {
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
