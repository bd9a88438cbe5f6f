package gitserver

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/util/cert"
)

// TLS serves the repositories of a directory over HTTPS. Private repositories require the
// user and the password.
type TLS struct {
	// URL is the prefix of the URL of a repository, which ends with "/NAME.git".
	URL string
	// CA is the certificate with which clients verify this server, as PEM.
	CA []byte

	server *http.Server
	ended  chan struct{}
}

// StartTLS starts a server with a new certificate. The caller closes it.
func StartTLS(o Options) (*TLS, error) {
	handler, err := NewHandler(o)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listening for git clients over https: %w", err)
	}
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey(listener.Addr().(*net.TCPAddr).IP.String(), nil, nil)
	var certificate tls.Certificate
	if err == nil {
		certificate, err = tls.X509KeyPair(certPEM, keyPEM)
	}
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("generating a certificate for https: %w", err)
	}
	s := &TLS{
		URL: "https://" + listener.Addr().String(), CA: certPEM, ended: make(chan struct{}),
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

// Close stops the server.
func (s *TLS) Close() {
	_ = s.server.Close()
	<-s.ended
}
