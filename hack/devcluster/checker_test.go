package devcluster

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// serve runs an HTTPS server with a certificate of the cluster that answers requests
// as a component does, and returns its URL.
func serve(t *testing.T, l layout, name string, clients *keyPair, handler http.HandlerFunc) string {
	t.Helper()
	pair, err := loadKeyPair(l, name)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair.certPEM, pair.keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(clients.cert)
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool,
		ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused clients are part of the test
	server.StartTLS()
	t.Cleanup(server.Close)
	return httpsURL(server.Listener.Addr().(*net.TCPAddr).Port)
}

func TestChecker(t *testing.T) {
	l := newLayout(t)
	c := newCredentials(t, l)
	check, err := newChecker(c)
	if err != nil {
		t.Fatal(err)
	}
	answer := http.StatusOK
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis" && (r.Header.Get("X-Remote-User") == "" || r.Header.Get("X-Remote-Group") != mastersGroup) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(answer)
		_, _ = w.Write([]byte("[+]ping ok\n[-]etcd failed\n"))
	}
	component := serve(t, l, kubeAPIServer, c.cluster, handler)
	proxied := serve(t, l, websiteAPIServer, c.frontProxy, handler)
	store := serve(t, l, etcd, c.etcd, handler)
	ctx := t.Context()
	for name, err := range map[string]error{
		"component": check.url(ctx, component+"/readyz"),
		"proxied":   check.proxied(ctx, proxied+"/apis"),
		"etcd":      check.etcd(ctx, store+"/readyz"),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A certificate of another CA does not belong to the component.
	if err := check.url(ctx, store+"/readyz"); err == nil {
		t.Error("etcd's certificate was taken for a component's")
	}
	answer = http.StatusInternalServerError
	if err := check.url(ctx, component+"/readyz"); err == nil || !strings.Contains(err.Error(), "[-]etcd failed") ||
		strings.Contains(err.Error(), "ping") {
		t.Errorf("an unready component gives %v, want the failed check alone", err)
	}
}
