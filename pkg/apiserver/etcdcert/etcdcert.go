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
	expirations.WithLabelValues(c.Name + "-ca").Set(float64(ca.cert.NotAfter.Unix()))
	return errors.Join(
		c.ensureLeaf(ctx, c.Name+"-server", leaf{subject: c.Name, names: c.names(), server: true}, ca),
		c.ensureLeaf(ctx, c.Name+"-client", leaf{subject: clientName}, ca),
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
func (c Config) ensureLeaf(ctx context.Context, name string, leaf leaf, ca *pair) error {
	secrets := c.Client.CoreV1().Secrets(c.Namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("getting secret %s: %w", name, err)
	}
	if !missing {
		current, err := parse(secret.Data)
		if err == nil && current.cert.CheckSignatureFrom(ca.cert) == nil &&
			bytes.Equal(secret.Data[caCert], encode(ca.cert)) &&
			slices.Equal(current.cert.DNSNames, leaf.names) && !due(current.cert, c.Clock.Now()) {
			expirations.WithLabelValues(name).Set(float64(current.cert.NotAfter.Unix()))
			return nil
		}
	}
	issued, err := ca.issue(leaf, c.Clock.Now(), c.Lifetime)
	if err != nil {
		return fmt.Errorf("generating the certificate of secret %s: %w", name, err)
	}
	if missing {
		return c.create(ctx, name, issued.cert, issued.data(encode(ca.cert)))
	}
	// The resource version prevents two concurrent replacements from mixing their keys.
	secret.Data = issued.data(encode(ca.cert))
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("updating secret %s: %w", name, err)
	}
	expirations.WithLabelValues(name).Set(float64(issued.cert.NotAfter.Unix()))
	klog.FromContext(ctx).Info("Wrote a certificate of etcd",
		"secret", klog.KRef(c.Namespace, name), "issuer", issued.cert.Issuer.CommonName, "expires", issued.cert.NotAfter)
	return nil
}

func (c Config) create(ctx context.Context, name string, generated *x509.Certificate, data map[string][]byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Type:       corev1.SecretTypeTLS,
		Data:       data,
	}
	if _, err := c.Client.CoreV1().Secrets(c.Namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating secret %s: %w", name, err)
	}
	expirations.WithLabelValues(name).Set(float64(generated.NotAfter.Unix()))
	klog.FromContext(ctx).Info("Generated a certificate of etcd", "secret", klog.KRef(c.Namespace, name), "expires",
		generated.NotAfter)
	return nil
}
