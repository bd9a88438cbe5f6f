// Package etcdcert keeps the certificates of the etcd cluster of artifacts/ha, and the CA that
// signs them, in Secrets: that of the members, with which they serve clients and each other,
// and that of website-apiserver, their client. All are replaced after two thirds of their
// lifetime.
//
// etcd and website-apiserver read certificates and keys again for each connection, but the CAs
// that they trust only at their start. Therefore a rotation of the CA restarts their pods, one
// after the other, each time that the bundle has changed.
package etcdcert

import (
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
	// interval is the time between two checks of what is due, retryInterval that after an error
	// and during a rotation of the CA.
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
	// Namespace is that of the Secrets. Name is that of the StatefulSet and of its Service; the
	// Secrets are NAME-ca, NAME-server and NAME-client.
	Namespace, Name string
	// Members is the number of members.
	Members int
	// Servers is the name of the Deployment of website-apiserver.
	Servers string
	// Lifetime is that of a certificate, CALifetime that of a CA.
	Lifetime, CALifetime time.Duration
	// PropagationDelay is how long a changed Secret may take to reach the pods.
	PropagationDelay time.Duration
	// Clock is the time.
	Clock clock.PassiveClock
}

// Run keeps the Secrets up to date until ctx ends.
func (c Config) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := interval
		rotating, err := c.ensure(ctx)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to keep the certificates of etcd up to date, retrying")
		}
		if err != nil || rotating {
			wait = retryInterval
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// Ensure creates the Secrets that are missing, replaces the certificates that are due, and
// takes the step of a rotation of the CA that is due.
func (c Config) Ensure(ctx context.Context) error {
	_, err := c.ensure(ctx)
	return err
}

// ensure also reports whether the CA is being rotated.
func (c Config) ensure(ctx context.Context) (rotating bool, err error) {
	a, secret, err := c.authority(ctx)
	if err != nil {
		return false, err
	}
	wrote, err := c.ensureLeaves(ctx, a)
	if err != nil || secret == nil {
		return a.rotating(), err
	}
	if wrote && !a.changed.IsZero() {
		// The last step has been interrupted, so what it gives to members and clients is on its way only now.
		return true, c.updateChanged(ctx, secret)
	}
	// With the certificates of this step in the Secrets.
	settled, err := c.settle(ctx, a)
	if err != nil {
		return a.rotating(), err
	}
	next, err := c.rotate(ctx, a, secret, settled)
	if err != nil {
		return true, err
	}
	if next == a {
		return a.rotating() || !settled, nil
	}
	_, err = c.ensureLeaves(ctx, next)
	return true, err
}

// ensureLeaves creates or replaces what is due, and reports whether that was anything.
func (c Config) ensureLeaves(ctx context.Context, a *authority) (wrote bool, err error) {
	expirations.WithLabelValues(c.Name + "-ca").Set(float64(a.signer.cert.NotAfter.Unix()))
	var failed []error
	for name, leaf := range map[string]leaf{
		c.Name + "-server": {subject: c.Name, names: c.names(), server: true},
		c.Name + "-client": {subject: clientName},
	} {
		written, err := c.ensureLeaf(ctx, name, leaf, a)
		wrote, failed = wrote || written, append(failed, err)
	}
	return wrote, errors.Join(failed...)
}

// names are those by which clients and other members connect to the members.
func (c Config) names() []string {
	// For etcdctl in the pod. First, as members look the names up one after the other.
	names := []string{"localhost"}
	for member := range c.Members {
		host := fmt.Sprintf("%s-%d.%s", c.Name, member, c.Name)
		names = append(names, host, host+"."+c.Namespace+".svc")
	}
	return names
}

// ensureLeaf creates a certificate, or replaces it if it is due, and keeps the bundle beside it. It reports
// whether it has written anything.
func (c Config) ensureLeaf(ctx context.Context, name string, leaf leaf, a *authority) (wrote bool, err error) {
	secrets := c.Client.CoreV1().Secrets(c.Namespace)
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return false, fmt.Errorf("getting secret %s: %w", name, err)
	}
	var current *pair
	if !missing {
		if current, err = parse(secret.Data); err != nil || current.cert.CheckSignatureFrom(a.signer.cert) != nil ||
			!slices.Equal(current.cert.DNSNames, leaf.names) || due(current.cert, c.Clock.Now()) {
			current = nil
		}
	}
	if current != nil && a.current(secret) {
		expirations.WithLabelValues(name).Set(float64(current.cert.NotAfter.Unix()))
		return false, nil
	}
	if current == nil {
		if current, err = a.signer.issue(leaf, c.Clock.Now(), c.Lifetime); err != nil {
			return false, fmt.Errorf("generating the certificate of secret %s: %w", name, err)
		}
	}
	if missing {
		return true, c.create(ctx, name, current.cert, current.data(a.bundle()))
	}
	// The resource version keeps two that replace it at once from mixing their keys.
	secret.Data = current.data(a.bundle())
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return false, fmt.Errorf("updating secret %s: %w", name, err)
	}
	expirations.WithLabelValues(name).Set(float64(current.cert.NotAfter.Unix()))
	klog.FromContext(ctx).Info("Wrote a certificate of etcd", "secret", klog.KRef(c.Namespace, name), "issuer", current.cert.Issuer.CommonName, "expires", current.cert.NotAfter)
	return true, nil
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
	klog.FromContext(ctx).Info("Generated a certificate of etcd", "secret", klog.KRef(c.Namespace, name), "expires", generated.NotAfter)
	return nil
}
