package gitserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"
)

// certificateLifetime is longer than any cluster of a test.
const certificateLifetime = 24 * time.Hour

// TLS serves the repositories of a folder over https, private ones to whoever has the
// user and the password.
type TLS struct {
	// URL is what the path of a repository follows, "/NAME.git".
	URL string
	// CA is the certificate by which clients trust this server, as PEM.
	CA []byte

	server *http.Server
	ended  chan struct{}
}

// StartTLS starts a server with a certificate of its own. The caller closes it.
func StartTLS(o Options) (*TLS, error) {
	handler, err := NewHandler(o)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listening for git clients over https: %w", err)
	}
	certificate, ca, err := selfSigned(listener.Addr().(*net.TCPAddr).IP)
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("making a certificate for https: %w", err)
	}
	s := &TLS{
		URL: "https://" + listener.Addr().String(), CA: ca, ended: make(chan struct{}),
		server: &http.Server{
			Handler: handler, ReadHeaderTimeout: 10 * time.Second,
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		},
	}
	go func() {
		defer close(s.ended)
		_ = s.server.ServeTLS(listener, "", "")
	}()
	return s, nil
}

// Close ends the server.
func (s *TLS) Close() {
	_ = s.server.Close()
	<-s.ended
}

// selfSigned makes a certificate for an address, and returns it as PEM as well.
func selfSigned(ip net.IP) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "devcluster git server"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(certificateLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
		IPAddresses:           []net.IP{ip},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
