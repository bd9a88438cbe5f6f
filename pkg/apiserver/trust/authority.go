package trust

import (
	"crypto/x509"
	"sync"
	"sync/atomic"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
)

// authority is a CA that the cluster publishes. It is empty while the cluster
// publishes none.
type authority struct {
	name   string
	bundle atomic.Pointer[bundle]

	mu        sync.Mutex
	listeners []dynamiccertificates.Listener
}

var _ dynamiccertificates.CAContentProvider = &authority{}

type bundle struct {
	pem   string
	roots *x509.CertPool
}

// Name identifies the authority in the log.
func (a *authority) Name() string { return a.name }

// AddListener adds a listener to be notified when the CA changes.
func (a *authority) AddListener(listener dynamiccertificates.Listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listeners = append(a.listeners, listener)
}

// CurrentCABundleContent returns the certificates, nil if there are none.
func (a *authority) CurrentCABundleContent() []byte {
	if b := a.bundle.Load(); b != nil {
		return []byte(b.pem)
	}
	return nil
}

// VerifyOptions returns false while there is no CA: no certificate is valid then.
func (a *authority) VerifyOptions() (x509.VerifyOptions, bool) {
	b := a.bundle.Load()
	if b == nil {
		return x509.VerifyOptions{}, false
	}
	return x509.VerifyOptions{Roots: b.roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
}

// parse returns the CA of a PEM bundle, nil for an empty one.
func parse(pem string) (*bundle, error) {
	if pem == "" {
		return nil, nil
	}
	roots, err := cert.NewPoolFromBytes([]byte(pem))
	if err != nil {
		return nil, err
	}
	return &bundle{pem, roots}, nil
}

// notify has the listeners read the CA. One that has not changed has no effect.
func (a *authority) notify() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, listener := range a.listeners {
		listener.Enqueue()
	}
}
