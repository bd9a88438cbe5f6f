package etcdcert

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
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// backdate makes a new certificate valid on machines whose clocks are slow.
const backdate = 5 * time.Minute

// pair is a certificate and its key.
type pair struct {
	cert   *x509.Certificate
	key    crypto.Signer
	keyPEM []byte
}

// leaf describes a certificate. Members are servers, and clients of each other.
type leaf struct {
	subject string
	names   []string
	server  bool
}

// due reports whether two thirds of the lifetime are over.
func due(c *x509.Certificate, now time.Time) bool {
	return now.Before(c.NotBefore) || now.After(c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore)/3*2))
}

func newAuthority(name string, now time.Time, lifetime time.Duration) (*pair, error) {
	authority, err := newPair(&x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", name, now.Unix())},
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, nil, now)
	if err != nil {
		return nil, fmt.Errorf("generating the CA of etcd: %w", err)
	}
	return authority, nil
}

// issue signs a certificate with a new key.
func (p *pair) issue(l leaf, now time.Time, lifetime time.Duration) (*pair, error) {
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if l.server {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	return newPair(&x509.Certificate{
		Subject:     pkix.Name{CommonName: l.subject},
		DNSNames:    l.names,
		NotAfter:    now.Add(lifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: usages,
	}, p, now)
}

// newPair generates a key and a certificate, which signs itself if there is no authority.
func newPair(template *x509.Certificate, authority *pair, now time.Time) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	template.NotBefore = now.Add(-backdate)
	parent, signer := template, crypto.Signer(key)
	if authority != nil {
		parent, signer = authority.cert, authority.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &pair{cert: signed, key: key, keyPEM: keyPEM}, nil
}

// parse reads the data of a Secret.
func parse(data map[string][]byte) (*pair, error) {
	read, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	signer, ok := read.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return &pair{cert: read.Leaf, key: signer, keyPEM: data[corev1.TLSPrivateKeyKey]}, nil
}

// data returns the data of a Secret, with the CA that its reader trusts.
func (p *pair) data(ca []byte) map[string][]byte {
	return map[string][]byte{
		caCert:                  ca,
		corev1.TLSCertKey:       encode(p.cert),
		corev1.TLSPrivateKeyKey: p.keyPEM,
	}
}

func encode(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw})
}
