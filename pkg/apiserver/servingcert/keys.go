package servingcert

import (
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	"github.com/kubesites/website-apiserver/pkg/apiserver/certificates"
)

const (
	// caKey is the entry of the Secret with the key of the current CA. A Secret without it
	// belongs to another issuer.
	caKey = "ca.key"
	// caCert is the entry with all trusted CAs, the current one first.
	caCert = "ca.crt"
)

// keys are the content of the Secret.
type keys struct {
	// ca signs serving certificates.
	ca *certificates.Pair
	// former CAs may have signed the certificate that a replica still serves.
	former []*x509.Certificate
	leaf   *certificates.Pair
}

// signs reports whether the current CA has signed the serving certificate.
func (k *keys) signs() bool { return k.leaf.CheckSignatureFrom(k.ca.Certificate) == nil }

// trusted returns all trusted CAs, the current one first.
func (k *keys) trusted() []*x509.Certificate {
	return slices.Insert(slices.Clone(k.former), 0, k.ca.Certificate)
}

// bundle returns all trusted CAs as PEM, the current one first.
func (k *keys) bundle() []byte { return certificates.Encode(k.trusted()...) }

// newCA replaces the CA; the one before stays trusted.
func (k *keys) newCA(name string, now time.Time, lifetime time.Duration) (*keys, error) {
	ca, err := certificates.NewAuthority(name, now, lifetime)
	if err != nil {
		return nil, fmt.Errorf("generating a CA: %w", err)
	}
	next := &keys{ca: ca}
	if k != nil {
		next.former, next.leaf = k.trusted(), k.leaf
	}
	return next, nil
}

// newLeaf replaces the serving certificate by one of the current CA.
func (k *keys) newLeaf(names []string, now time.Time, lifetime time.Duration) (*keys, error) {
	next := *k
	var err error
	if next.leaf, err = k.ca.Issue(names[0], names, now, lifetime, x509.ExtKeyUsageServerAuth); err != nil {
		return nil, fmt.Errorf("generating a serving certificate: %w", err)
	}
	return &next, nil
}

// parse reads the data of the Secret.
func parse(data map[string][]byte) (*keys, error) {
	authorities, err := cert.ParseCertsPEM(data[caCert])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caCert, err)
	}
	ca, err := certificates.Parse(data[caCert], data[caKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", caCert, caKey, err)
	}
	leaf, err := certificates.Parse(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	return &keys{ca: ca, former: authorities[1:], leaf: leaf}, nil
}

// data returns the data of the Secret.
func (k *keys) data() map[string][]byte {
	return map[string][]byte{
		caCert:                  k.bundle(),
		caKey:                   k.ca.KeyPEM,
		corev1.TLSCertKey:       certificates.Encode(k.leaf.Certificate),
		corev1.TLSPrivateKeyKey: k.leaf.KeyPEM,
	}
}
