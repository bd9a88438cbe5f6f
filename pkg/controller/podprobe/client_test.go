package podprobe

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// serve returns the port on 127.0.0.1, which is the address of newPod.
func serve(t *testing.T, handler http.HandlerFunc) (int32, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address.Host)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return int32(number), server.URL
}

func TestDirect(t *testing.T) {
	port, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/commit":
			_, _ = w.Write([]byte(commitA))
		case "/moved":
			http.Redirect(w, r, "/commit", http.StatusFound)
		case "/long":
			_, _ = w.Write([]byte(strings.Repeat("x", maxBody+1)))
		}
	})
	pods, err := NewClient(Direct, nil)
	if err != nil {
		t.Fatal(err)
	}
	if code, body, err := pods.Get(t.Context(), newPod("a"), Request{Port: port, Path: "/commit"}); err != nil ||
		code != 200 || string(body) != commitA {
		t.Errorf("/commit: %d %q %v", code, body, err)
	}
	if code, _, err := pods.Get(t.Context(), newPod("a"), Request{Port: port, Path: "/moved"}); err != nil ||
		code != http.StatusFound {
		t.Errorf("a redirect was followed: %d %v", code, err)
	}
	if _, _, err := pods.Get(t.Context(), newPod("a"), Request{Port: port, Path: "/long"}); !errors.Is(err, errTooLong) {
		t.Errorf("a long answer: %v, want %v", err, errTooLong)
	}
}

// TestNoProxyBetweenPods: pods are requested directly, with any environment. The requests cannot show
// that: Go sends none for a loopback address to a proxy, and reads the environment once.
func TestNoProxyBetweenPods(t *testing.T) {
	transport, ok := directClient().Transport.(*http.Transport)
	if !ok || transport.Proxy != nil {
		t.Errorf("pods may be asked through a proxy: %+v", directClient().Transport)
	}
}

func TestPodProxy(t *testing.T) {
	var asked string
	_, server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = w.Write([]byte(commitA))
	})
	pods, err := NewClient(PodProxy, &rest.Config{Host: server, BearerToken: "token"})
	if err != nil {
		t.Fatal(err)
	}
	if _, body, err := pods.Get(t.Context(), newPod("a"), Request{Port: 8081, Path: "/commit"}); err != nil ||
		string(body) != commitA {
		t.Errorf("/commit: %q %v", body, err)
	}
	if want := "/api/v1/namespaces/default/pods/a:8081/proxy/commit Bearer token"; asked != want {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func TestUnknownMode(t *testing.T) {
	if _, err := NewClient("Guess", nil); err == nil {
		t.Error("no error")
	}
}
