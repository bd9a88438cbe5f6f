package devcluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	leafLifetime = 365 * 24 * time.Hour
	// A small clock difference must not make a fresh certificate invalid.
	backdate = 5 * time.Minute
)

// keyPair is a certificate and its key, parsed and as PEM.
type keyPair struct {
	cert            *x509.Certificate
	key             crypto.Signer
	certPEM, keyPEM []byte
}

// leaf is the purpose of a certificate.
type leaf struct {
	commonName    string
	organizations []string
	// dns and ips are the names and addresses of a server; empty for a client.
	dns []string
	ips []net.IP
	// client and server are the permitted uses of the certificate.
	client, server bool
}

// newCA generates a self-signed CA, valid for ten years.
func newCA(commonName string) (*keyPair, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: commonName, NotBefore: time.Now().Add(-backdate)}, key)
	if err != nil {
		return nil, fmt.Errorf("generating the CA %s: %w", commonName, err)
	}
	return encode(ca.Raw, keyPEM)
}

func newKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	var keyPEM []byte
	if err == nil {
		keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	return key, keyPEM, nil
}

// newLeaf makes a certificate signed by ca.
func newLeaf(ca *keyPair, l leaf) (*keyPair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: l.commonName, Organization: l.organizations},
		NotAfter:    time.Now().Add(leafLifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		DNSNames:    l.dns,
		IPAddresses: l.ips,
		ExtKeyUsage: l.usages(),
	}
	return issue(ca, template)
}

func (l leaf) usages() []x509.ExtKeyUsage {
	var usages []x509.ExtKeyUsage
	if l.client {
		usages = append(usages, x509.ExtKeyUsageClientAuth)
	}
	if l.server {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	return usages
}

// issue signs template, with a new key, by ca.
func issue(ca *keyPair, template *x509.Certificate) (*keyPair, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	template.NotBefore = time.Now().Add(-backdate)
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return encode(der, keyPEM)
}

func encode(der, keyPEM []byte) (*keyPair, error) {
	return parseKeyPair(pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), keyPEM)
}

func parseKeyPair(certPEM, keyPEM []byte) (*keyPair, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("parsing a certificate and its key: %w", err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return &keyPair{cert: pair.Leaf, key: key, certPEM: certPEM, keyPEM: keyPEM}, nil
}

// loadKeyPair reads a pair from the state directory. Its error wraps fs.ErrNotExist if it
// is missing.
func loadKeyPair(l layout, name string) (*keyPair, error) {
	certPEM, err := os.ReadFile(l.cert(name))
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	keyPEM, err := os.ReadFile(l.key(name))
	if err != nil {
		return nil, fmt.Errorf("reading a key: %w", err)
	}
	return parseKeyPair(certPEM, keyPEM)
}

func (k *keyPair) save(l layout, name string) error {
	if err := writeFile(l.key(name), k.keyPEM, 0o600); err != nil {
		return err
	}
	return writeFile(l.cert(name), k.certPEM, 0o644)
}

// ensureCA loads the CA of that name, or makes it.
func ensureCA(l layout, name string) (*keyPair, error) {
	ca, err := loadKeyPair(l, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return ca, err
	}
	if ca, err = newCA("devcluster " + name); err != nil {
		return nil, err
	}
	return ca, ca.save(l, name)
}

// makeLeaf makes the certificate of that name.
func makeLeaf(l layout, name string, ca *keyPair, purpose leaf) error {
	pair, err := newLeaf(ca, purpose)
	if err != nil {
		return err
	}
	return pair.save(l, name)
}
