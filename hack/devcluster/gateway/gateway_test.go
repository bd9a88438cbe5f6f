package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// start runs a gateway in front of target and returns the addresses it listens on.
func start(t *testing.T, target, client string) (api, proxy string) {
	t.Helper()
	o := Options{API: free(t), Proxy: free(t), Target: target, Client: client}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- Serve(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) {
			conn, err := net.Dial("tcp", o.Proxy)
			if err != nil {
				return false, nil
			}
			return true, conn.Close()
		})
	if err != nil {
		t.Fatalf("the gateway does not listen: %v", err)
	}
	return o.API, o.Proxy
}

func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func read(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestGateway(t *testing.T) {
	target := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "hello") }),
	)
	defer target.Close()
	address := strings.TrimPrefix(target.URL, "https://")
	api, proxy := start(t, address, "127.0.0.1")

	if code, body := read(t, target.Client(), "https://"+api); code != http.StatusOK || body != "hello" {
		t.Errorf("through the relay: %d %q", code, body)
	}
	transport := target.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: proxy})
	defer transport.CloseIdleConnections()
	if code, body := read(t, &http.Client{Transport: transport}, target.URL); code != http.StatusOK || body != "hello" {
		t.Errorf("through the proxy: %d %q", code, body)
	}
	if code, _ := read(t, http.DefaultClient, "http://"+proxy); code != http.StatusMethodNotAllowed {
		t.Errorf("a request that is no CONNECT: %d", code)
	}
}

func TestProxyRefusesOthers(t *testing.T) {
	_, proxy := start(t, "127.0.0.1:1", "192.0.2.7")
	if code, body := read(t, http.DefaultClient, "http://"+proxy); code != http.StatusForbidden {
		t.Errorf("a client that is not the node: %d %s", code, body)
	}
}

func TestServeNeedsAClient(t *testing.T) {
	if err := Serve(t.Context(), Options{API: free(t), Proxy: free(t)}); err == nil {
		t.Error("a proxy without a client was accepted")
	}
}
