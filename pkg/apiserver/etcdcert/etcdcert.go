// Package etcdcert renews the certificates of the etcd cluster of artifacts/ha, and keeps the
// CA that signs them, in Secrets: the members' certificate, with which they serve clients and
// each other, and the certificate of website-apiserver, their client. These two are replaced
// after two thirds of their lifetime, and read again for each connection.
//
// The CA is valid for ten years. It is read at the start of a process only, so an administrator
// replaces it, and restarts etcd and website-apiserver.
package etcdcert

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apiserver/certificates"
)

const (
	// interval is the time between two checks for due certificates, retryInterval the time after
	// an error.
	interval, retryInterval = time.Minute, 10 * time.Second
	// clientName is the subject of the certificate of website-apiserver.
	clientName = "website-apiserver"
	// caCert is the entry of each Secret with the certificate of the CA.
	caCert = "ca.crt"
)

// Config configures the certificates of an etcd cluster.
type Config struct {
	// Client reads and writes the Secrets.
	Client kubernetes.Interface
	// Namespace is the namespace of the Secrets. Name is the name of the StatefulSet and of its
	// Service; the Secrets are NAME-ca, NAME-server and NAME-client.
	Namespace, Name string
	// Members is the number of members.
	Members int
	// Lifetime is the lifetime of a certificate, CALifetime the lifetime of a CA.
	Lifetime, CALifetime time.Duration
	// Clock is the time.
	Clock clock.PassiveClock
}

// Run keeps the Secrets up to date until ctx ends.
func (c Config) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := interval
		if err := c.Ensure(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to keep the certificates of etcd up to date, retrying")
			wait = retryInterval
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// Ensure creates missing Secrets, and replaces due certificates.
func (c Config) Ensure(ctx context.Context) error {
	ca, err := c.authority(ctx)
	if err != nil {
		return err
	}
	expirations.WithLabelValues(c.Name + "-ca").Set(float64(ca.NotAfter.Unix()))
	return errors.Join(
		// Members are servers, and clients of each other.
		c.ensureLeaf(ctx, c.Name+"-server", ca, c.Name, c.names(), x509.ExtKeyUsageClientAuth,
			x509.ExtKeyUsageServerAuth),
		c.ensureLeaf(ctx, c.Name+"-client", ca, clientName, nil, x509.ExtKeyUsageClientAuth),
	)
}

// names returns the names by which clients and other members connect to the members.
func (c Config) names() []string {
	// etcdctl in the pod uses this name. It is first, as members look the names up one after
	// the other.
	names := []string{"localhost"}
	for member := range c.Members {
		host := fmt.Sprintf("%s-%d.%s", c.Name, member, c.Name)
		names = append(names, host, host+"."+c.Namespace+".svc")
	}
	return names
}

// ensureLeaf creates a certificate, or replaces it if it is due.
func (c Config) ensureLeaf(ctx context.Context, name string, ca *certificates.Pair, subject string, names []string,
	usages ...x509.ExtKeyUsage) error {
	secrets := c.Client.CoreV1().Secrets(c.Namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("getting secret %s: %w", name, err)
	}
	if !missing {
		current, err := parse(secret.Data)
		if err == nil && current.CheckSignatureFrom(ca.Certificate) == nil &&
			bytes.Equal(secret.Data[caCert], certificates.Encode(ca.Certificate)) &&
			slices.Equal(current.DNSNames, names) && !current.RenewalDue(c.Clock.Now()) {
			expirations.WithLabelValues(name).Set(float64(current.NotAfter.Unix()))
			return nil
		}
	}
	issued, err := ca.Issue(subject, names, c.Clock.Now(), c.Lifetime, usages...)
	if err != nil {
		return fmt.Errorf("generating the certificate of secret %s: %w", name, err)
	}
	if missing {
		return c.create(ctx, name, issued, ca)
	}
	// The resource version prevents two concurrent replacements from mixing their keys.
	secret.Data = data(issued, ca)
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("updating secret %s: %w", name, err)
	}
	expirations.WithLabelValues(name).Set(float64(issued.NotAfter.Unix()))
	klog.FromContext(ctx).Info("Wrote a certificate of etcd",
		"secret", klog.KRef(c.Namespace, name), "issuer", issued.Issuer.CommonName, "expires", issued.NotAfter)
	return nil
}

func (c Config) create(ctx context.Context, name string, generated, ca *certificates.Pair) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data:       data(generated, ca),
	}
	if _, err := c.Client.CoreV1().Secrets(c.Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating secret %s: %w", name, err)
	}
	expirations.WithLabelValues(name).Set(float64(generated.NotAfter.Unix()))
	klog.FromContext(ctx).Info("Generated a certificate of etcd", "secret", klog.KRef(c.Namespace, name), "expires",
		generated.NotAfter)
	return nil
}

// parse reads the data of a Secret.
func parse(data map[string][]byte) (*certificates.Pair, error) {
	return certificates.Parse(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
}

// data returns the data of a Secret, with the CA that its reader trusts.
func data(p, ca *certificates.Pair) map[string][]byte {
	return map[string][]byte{
		caCert:                  certificates.Encode(ca.Certificate),
		corev1.TLSCertKey:       certificates.Encode(p.Certificate),
		corev1.TLSPrivateKeyKey: p.KeyPEM,
	}
}
