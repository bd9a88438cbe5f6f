package framework

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Edge simulates the address of a Gateway, with a server for HTTP and one for HTTPS.
type Edge struct {
	HTTPPort, HTTPSPort int32

	mu          sync.Mutex
	certificate *tls.Certificate
	commit      string
}

// NewEdge starts the servers on 127.0.0.1. They answer as a pod that serves a commit.
func NewEdge(t *testing.T, commit string) *Edge {
	t.Helper()
	edge := &Edge{commit: commit}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		edge.mu.Lock()
		defer edge.mu.Unlock()
		if edge.commit != "" {
			w.Header().Set("Website-Commit", edge.commit)
		}
	})
	plain, secure := httptest.NewServer(handler), httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true
	secure.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		edge.mu.Lock()
		defer edge.mu.Unlock()
		return edge.certificate, nil
	}}
	secure.StartTLS()
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	edge.HTTPPort, edge.HTTPSPort = portOf(plain.Listener), portOf(secure.Listener)
	return edge
}

func portOf(listener net.Listener) int32 { return int32(listener.Addr().(*net.TCPAddr).Port) }

// Serve sets the commit of the responses. With an empty commit, the servers answer as a
// foreign site.
func (e *Edge) Serve(commit string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.commit = commit
}

// Present makes the server present a new self-signed certificate for names.
func (e *Edge) Present(t *testing.T, expires time.Time, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: expires}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.certificate = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
