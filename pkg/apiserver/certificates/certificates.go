// Package certificates generates the CAs and certificates that website-apiserver keeps in Secrets.
package certificates

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

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// backdate makes a new certificate valid on machines whose clocks are slow.
const backdate = 5 * time.Minute

// Pair is a certificate and its key.
type Pair struct {
	*x509.Certificate
	// Key signs certificates, if the certificate is of a CA.
	Key crypto.Signer
	// KeyPEM is the key, PEM.
	KeyPEM []byte
}

// NewAuthority generates a CA. Its name is followed by the time: a name of its own keeps verifiers
// from mistaking one CA for the other.
func NewAuthority(name string, now time.Time, lifetime time.Duration) (*Pair, error) {
	return generate(&x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", name, now.Unix())},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, nil, now, lifetime)
}

// Issue signs a certificate with a new key.
func (p *Pair) Issue(subject string, dnsNames []string, now time.Time, lifetime time.Duration,
	usages ...x509.ExtKeyUsage) (*Pair, error) {
	return generate(&x509.Certificate{
		Subject:     pkix.Name{CommonName: subject},
		DNSNames:    dnsNames,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: usages,
	}, p, now, lifetime)
}

// generate makes a key and a certificate, which signs itself if there is no authority.
func generate(template *x509.Certificate, authority *Pair, now time.Time, lifetime time.Duration) (*Pair, error) {
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
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(lifetime)
	parent, signer := template, crypto.Signer(key)
	if authority != nil {
		parent, signer = authority.Certificate, authority.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Pair{Certificate: signed, Key: key, KeyPEM: keyPEM}, nil
}

// Parse reads a key and the first of some certificates, to which it must belong.
func Parse(certificates, key []byte) (*Pair, error) {
	read, err := tls.X509KeyPair(certificates, key)
	if err != nil {
		return nil, err
	}
	signer, ok := read.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return &Pair{Certificate: read.Leaf, Key: signer, KeyPEM: key}, nil
}

// Encode returns certificates as PEM.
func Encode(certificates ...*x509.Certificate) []byte {
	var encoded []byte
	for _, c := range certificates {
		encoded = append(encoded, pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw})...)
	}
	return encoded
}

// Issued returns the time at which the certificate was signed.
func (p *Pair) Issued() time.Time { return p.NotBefore.Add(backdate) }

// Renewal returns the time at which two thirds of the lifetime are over.
func (p *Pair) Renewal() time.Time { return p.Issued().Add(p.NotAfter.Sub(p.Issued()) / 3 * 2) }

// RenewalDue reports whether two thirds of the lifetime are over, or the clock was ahead when it was issued.
func (p *Pair) RenewalDue(now time.Time) bool { return !now.Before(p.Renewal()) || p.IsAhead(now) }

// IsAhead reports whether the certificate is not valid yet: the clock of its issuer was ahead.
func (p *Pair) IsAhead(now time.Time) bool { return now.Before(p.NotBefore) }
