package trust

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/cert"
)

func newCA(t *testing.T) string {
	t.Helper()
	pem, _, err := cert.GenerateSelfSignedCertKey("ca", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem)
}

func configMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}

// started is a Cluster that runs until the test ends.
func started(t *testing.T, client *fake.Clientset, config Config) *Cluster {
	t.Helper()
	c, err := New(client, config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

// watched returns a channel that is closed once a client watches: unlike an API server, a
// fake one loses changes between a list and that watch.
func watched(t *testing.T, client *fake.Clientset) <-chan struct{} {
	t.Helper()
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	client.PrependWatchReactor("configmaps", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace())
		begin()
		return true, w, err
	})
	return begun
}

func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) {
			return done(), nil
		}); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func trusts(ca dynamiccertificates.CAContentProvider) bool {
	_, ok := ca.VerifyOptions()
	return ok && len(ca.CurrentCABundleContent()) > 0
}

// TestContentDecidesTrust: the trusted CAs follow from the content of the ConfigMap.
func TestContentDecidesTrust(t *testing.T) {
	ca := newCA(t)
	both := Config{Clients: true, Proxy: true}
	tests := map[string]struct {
		config           Config
		data             map[string]string
		unknown          string
		clients, proxies bool
	}{
		"all": {config: both, data: map[string]string{clientCAKey: ca, proxyCAKey: ca,
			usernameHeadersKey: `["X-Remote-User"]`}, clients: true, proxies: true},
		"no client CA": {config: both,
			data: map[string]string{proxyCAKey: ca, usernameHeadersKey: `["X-Remote-User"]`}, proxies: true},
		"no proxy": {config: both, data: map[string]string{clientCAKey: ca},
			unknown: "has no requestheader-client-ca-file"},
		"no proxy, none needed": {config: Config{Clients: true}, data: map[string]string{clientCAKey: ca}, clients: true},
		"no headers": {config: both, data: map[string]string{clientCAKey: ca, proxyCAKey: ca},
			unknown: "has no requestheader-username-headers"},
		"no certificate": {config: both, data: map[string]string{clientCAKey: ca, proxyCAKey: "x",
			usernameHeadersKey: `["X-Remote-User"]`}, unknown: "reading requestheader-client-ca-file"},
		"names that are no list": {
			config: both, data: map[string]string{clientCAKey: ca, proxyCAKey: ca, usernameHeadersKey: `["X-Remote-User"]`,
				allowedNamesKey: "front-proxy"}, unknown: "reading requestheader-allowed-names",
		},
		"no content": {config: both, unknown: "has no requestheader-client-ca-file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := started(t, fake.NewClientset(configMap(test.data)), test.config)
			waitUntil(t, "it was read", func() bool {
				err := c.Unknown()
				return (err == nil) == (test.unknown == "") && (err == nil || strings.Contains(err.Error(), test.unknown))
			})
			if trusts(c.ClientCA()) != test.clients || trusts(&c.proxyCA) != test.proxies {
				t.Errorf("trusts clients: %t, the proxy: %t; want %t, %t", trusts(c.ClientCA()), trusts(&c.proxyCA),
					test.clients, test.proxies)
			}
		})
	}
}

type enqueued chan struct{}

func (e enqueued) Enqueue() { e <- struct{}{} }

// TestDeletionEndsTrust deletes the ConfigMap, and creates it again with another CA. Meanwhile new requests get 503;
// those from before the deletion are authenticated as before. Where the CAs are optional, all users are anonymous.
func TestDeletionEndsTrust(t *testing.T) {
	for mode, optional := range map[string]bool{"required": false, "optional": true} {
		t.Run(mode, func(t *testing.T) {
			ctx, old := t.Context(), newCA(t)
			data := map[string]string{clientCAKey: newCA(t), proxyCAKey: old, usernameHeadersKey: `["X-Remote-User"]`,
				allowedNamesKey: `["front-proxy"]`}
			client := fake.NewClientset(configMap(data))
			watching := watched(t, client)
			c := started(t, client, Config{Clients: true, Proxy: true, Optional: optional})
			<-watching
			waiting, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			c.Wait(waiting)
			proxy := c.RequestHeader()
			trusted := func() bool {
				return trusts(c.ClientCA()) && trusts(proxy.CAContentProvider) &&
					slices.Equal(proxy.AllowedClientNames.Value(), []string{"front-proxy"})
			}
			if err := c.Unknown(); err != nil || !trusted() {
				t.Fatalf("unknown: %v, trusted: %t", err, trusted())
			}
			serving := make(enqueued, 10)
			proxy.CAContentProvider.AddListener(serving)

			configMaps := client.CoreV1().ConfigMaps(namespace)
			if err := configMaps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if optional {
				<-serving
				waitUntil(t, "trust has ended", func() bool { return !trusts(c.ClientCA()) && !trusts(proxy.CAContentProvider) })
			} else {
				waitUntil(t, "requests are refused", func() bool { return c.Unknown() != nil && c.Check().Check(nil) != nil })
				if !trusted() {
					t.Error("the user of a request that came before the deletion is anonymous")
				}
			}

			data[proxyCAKey] = newCA(t)
			if _, err := configMaps.Create(ctx, configMap(data), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			<-serving
			c.Wait(waiting)
			if got := string(proxy.CAContentProvider.CurrentCABundleContent()); got == old || got != data[proxyCAKey] {
				t.Error("the proxy's CA is not the new one")
			}
		})
	}
}

// TestUnreadable: without permission, the reason is known.
func TestUnreadable(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no permission")
	})
	c := started(t, client, Config{Clients: true, Proxy: true})
	waitUntil(t, "the reason is known", func() bool { return strings.Contains(c.Unknown().Error(), "no permission") })
	optional := started(t, client, Config{Clients: true, Proxy: true, Optional: true})
	if err := optional.Unknown(); err != nil {
		t.Errorf("where it is optional: %v", err)
	}
}

func TestRetryWithoutClientCA(t *testing.T) {
	client := fake.NewClientset()
	watching := watched(t, client)
	c := started(t, client, Config{Clients: true, Proxy: true})
	<-watching
	waitUntil(t, "it was read", func() bool { return strings.Contains(c.Unknown().Error(), "does not exist") })
	handler := c.WithKnownUsers(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}),
		serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion())
	get := func(path string) *httptest.ResponseRecorder {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return recorder
	}
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		if got := get(path); got.Code != http.StatusTeapot {
			t.Errorf("%s = %d, want it served", path, got.Code)
		}
	}
	for _, path := range []string{"/", "/apis", "/livez/etcd", "/metrics",
		"/apis/mycontroller.nevermosby.io/v1beta1/websites"} {
		if got := get(path); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "1" ||
			!strings.Contains(got.Body.String(), "does not exist") {
			t.Errorf("%s = %d, Retry-After %q: %s; want 503, 1 and the reason", path, got.Code,
				got.Header().Get("Retry-After"), got.Body)
		}
	}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(
		t.Context(), configMap(map[string]string{proxyCAKey: newCA(t), usernameHeadersKey: `["X-Remote-User"]`}),
		metav1.CreateOptions{},
	); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "users are known", func() bool { return c.Unknown() == nil })
	if got := get("/apis"); got.Code != http.StatusTeapot {
		t.Errorf("/apis = %d once users are known", got.Code)
	}
}
