package servingcert

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// backdate makes a new certificate valid on machines whose clocks are slow.
	backdate = 5 * time.Minute
	// caKey is the entry of the Secret with the key of the current CA. A Secret without it
	// belongs to another issuer.
	caKey = "ca.key"
	// caCert is the entry with all trusted CAs, the current one first.
	caCert = "ca.crt"
)

// keys are the content of the Secret.
type keys struct {
	// ca signs serving certificates, with caKey.
	ca    *x509.Certificate
	caKey crypto.Signer
	// former CAs may have signed the certificate that a replica still serves.
	former []*x509.Certificate
	leaf   *x509.Certificate
	// leafKey is PEM, as in the Secret.
	leafKey []byte
}

// issued returns the time at which a certificate of this package was signed.
func issued(c *x509.Certificate) time.Time { return c.NotBefore.Add(backdate) }

// renewalDue reports whether two thirds of the lifetime are over, or the clock was ahead when it was issued.
func renewalDue(c *x509.Certificate, now time.Time) bool {
	return !now.Before(renewal(c)) || isAhead(c, now)
}

// isAhead reports whether a certificate is not valid yet: the clock of its issuer was ahead.
func isAhead(c *x509.Certificate, now time.Time) bool { return now.Before(c.NotBefore) }

func renewal(c *x509.Certificate) time.Time {
	return issued(c).Add(c.NotAfter.Sub(issued(c)) / 3 * 2)
}

// signs reports whether the current CA has signed the serving certificate.
func (k *keys) signs() bool { return k.leaf.CheckSignatureFrom(k.ca) == nil }

// bundle returns all trusted CAs as PEM, the current one first.
func (k *keys) bundle() []byte {
	bundle := encode(k.ca)
	for _, c := range k.former {
		bundle = append(bundle, encode(c)...)
	}
	return bundle
}

func encode(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw})
}

// newCA replaces the CA; the one before stays trusted.
func (k *keys) newCA(name string, now time.Time, lifetime time.Duration) (*keys, error) {
	key, _, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		// A name of its own keeps verifiers from mistaking one CA for the other.
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", name, now.Unix())},
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	ca, err := sign(template, template, key.Public(), key, now)
	if err != nil {
		return nil, fmt.Errorf("generating a CA: %w", err)
	}
	next := &keys{ca: ca, caKey: key}
	if k != nil {
		next.former = append([]*x509.Certificate{k.ca}, k.former...)
		next.leaf, next.leafKey = k.leaf, k.leafKey
	}
	return next, nil
}

// newLeaf replaces the serving certificate by one of the current CA.
func (k *keys) newLeaf(names []string, now time.Time, lifetime time.Duration) (*keys, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		DNSNames:    names,
		NotAfter:    now.Add(lifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leaf, err := sign(template, k.ca, key.Public(), k.caKey, now)
	if err != nil {
		return nil, fmt.Errorf("generating a serving certificate: %w", err)
	}
	next := *k
	next.leaf, next.leafKey = leaf, keyPEM
	return &next, nil
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

// sign completes the template with the fields of every certificate.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer,
	now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = now.Add(-backdate)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// parse reads the data of the Secret.
func parse(data map[string][]byte) (*keys, error) {
	authorities, err := cert.ParseCertsPEM(data[caCert])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caCert, err)
	}
	private, err := keyutil.ParsePrivateKeyPEM(data[caKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caKey, err)
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s: the key cannot sign", caKey)
	}
	public, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caKey, err)
	}
	if !bytes.Equal(public, authorities[0].RawSubjectPublicKeyInfo) {
		return nil, fmt.Errorf("%s is not the key of the first certificate in %s", caKey, caCert)
	}
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	return &keys{ca: authorities[0], caKey: signer, former: authorities[1:], leaf: pair.Leaf,
		leafKey: data[corev1.TLSPrivateKeyKey]}, nil
}

// data returns the data of the Secret.
func (k *keys) data() (map[string][]byte, error) {
	private, err := keyutil.MarshalPrivateKeyToPEM(k.caKey)
	if err != nil {
		return nil, fmt.Errorf("encoding the key of the CA: %w", err)
	}
	return map[string][]byte{
		caCert:                  k.bundle(),
		caKey:                   private,
		corev1.TLSCertKey:       encode(k.leaf),
		corev1.TLSPrivateKeyKey: k.leafKey,
	}, nil
}
