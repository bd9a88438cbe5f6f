package etcdcert

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
)

const (
	// AnnotationRotate on the Secret of the CA requests a new CA. It is removed when its
	// rotation begins, which is after one that is under way: that one's CA may be why another is wanted.
	AnnotationRotate = "website-system.kubesites.io/rotate"
	// annotationChanged is when the CA or the bundle has changed last.
	annotationChanged = "website-system.kubesites.io/changed"
	// nextCert and nextKey are the entries of the Secret with the CA that members and clients
	// do not trust yet.
	nextCert, nextKey = "next.crt", "next.key"
)

// authority is the CA, and how far its rotation is.
type authority struct {
	// signer signs certificates. next replaces it once everyone trusts it; nil outside of a
	// rotation.
	signer, next *pair
	// former was the signer before, and is trusted still; nil outside of a rotation.
	former *x509.Certificate
	// changed is when members and clients were given another bundle or other certificates.
	changed time.Time
}

// bundle is what members and clients trust, PEM. It is the same whichever of its CAs signs.
func (a *authority) bundle() []byte {
	trusted := []*x509.Certificate{a.signer.cert}
	if a.next != nil {
		trusted = append(trusted, a.next.cert)
	}
	if a.former != nil {
		trusted = append(trusted, a.former)
	}
	slices.SortFunc(trusted, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
	var bundle []byte
	for _, c := range trusted {
		bundle = append(bundle, encode(c)...)
	}
	return bundle
}

// rotating reports whether a rotation is under way.
func (a *authority) rotating() bool { return a.next != nil || a.former != nil }

// data is what the Secret of the CA holds.
func (a *authority) data() map[string][]byte {
	data := a.signer.data(a.bundle())
	if a.next != nil {
		data[nextCert], data[nextKey] = encode(a.next.cert), a.next.keyPEM
	}
	return data
}

// parseAuthority reads the Secret of the CA.
func parseAuthority(secret *corev1.Secret) (*authority, error) {
	signer, err := parse(secret.Data)
	if err != nil {
		return nil, err
	}
	a := &authority{signer: signer}
	if secret.Data[nextCert] != nil {
		a.next, err = parse(map[string][]byte{corev1.TLSCertKey: secret.Data[nextCert], corev1.TLSPrivateKeyKey: secret.Data[nextKey]})
		if err != nil {
			return nil, fmt.Errorf("the next CA: %w", err)
		}
	}
	bundle, err := cert.ParseCertsPEM(secret.Data[caCert])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caCert, err)
	}
	for _, trusted := range bundle {
		if !trusted.Equal(signer.cert) && (a.next == nil || !trusted.Equal(a.next.cert)) {
			a.former = trusted
		}
	}
	if changed := secret.Annotations[annotationChanged]; changed != "" {
		if a.changed, err = time.Parse(time.RFC3339, changed); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", annotationChanged, err)
		}
	}
	return a, nil
}

// authority returns the CA, and generates it if there are no certificates yet. secret is nil
// then.
func (c Config) authority(ctx context.Context) (a *authority, secret *corev1.Secret, err error) {
	secrets, name := c.Client.CoreV1().Secrets(c.Namespace), c.Name+"-ca"
	secret, err = secrets.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		if a, err = parseAuthority(secret); err != nil {
			return nil, nil, fmt.Errorf("reading secret %s: %w", name, err)
		}
		return a, secret, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, nil, fmt.Errorf("getting secret %s: %w", name, err)
	}
	// Certificates of a new CA are not trusted by members that run.
	for _, used := range []string{c.Name + "-server", c.Name + "-client"} {
		_, err := secrets.Get(ctx, used, metav1.GetOptions{})
		if err == nil {
			return nil, nil, fmt.Errorf("secret %s is missing, and secret %s has a certificate of that CA: restore it, or delete secret %s, and restart etcd and website-apiserver afterwards", name, used, used)
		}
		if !apierrors.IsNotFound(err) {
			return nil, nil, fmt.Errorf("getting secret %s: %w", used, err)
		}
	}
	signer, err := newAuthority(c.Name, c.Clock.Now(), c.CALifetime)
	if err != nil {
		return nil, nil, err
	}
	a = &authority{signer: signer}
	return a, nil, c.create(ctx, name, signer.cert, a.data())
}

// rotate takes the step of the rotation that is due. settled reports whether all members and
// clients run with the certificates and the bundle that they were given.
//
// The order is: the next CA joins the bundle; once everyone trusts it, it signs all
// certificates; once everyone uses these, the former CA leaves the bundle.
func (c Config) rotate(ctx context.Context, a *authority, secret *corev1.Secret, settled bool) (*authority, error) {
	now, next, updated := c.Clock.Now(), *a, secret.DeepCopy()
	_, requested := secret.Annotations[AnnotationRotate]
	var did string
	switch {
	case !a.rotating() && (requested || due(a.signer.cert, now)):
		joining, err := newAuthority(c.Name, now, c.CALifetime)
		if err != nil {
			return nil, err
		}
		next.next, did = joining, "The next CA of etcd joins the bundle"
		delete(updated.Annotations, AnnotationRotate)
	case a.next != nil && settled:
		next.signer, next.next, next.former = a.next, nil, a.signer.cert
		did = "The next CA of etcd signs all certificates"
	case a.former != nil && a.next == nil && settled:
		next.former, did = nil, "The former CA of etcd leaves the bundle"
	default:
		return a, nil
	}
	next.changed = now
	updated.Data = next.data()
	if err := c.updateChanged(ctx, updated); err != nil {
		return nil, err
	}
	klog.FromContext(ctx).Info(did, "secret", klog.KObj(updated), "signer", next.signer.cert.Subject.CommonName)
	return &next, nil
}

// updateChanged updates the Secret of the CA: members and clients are given something else now.
func (c Config) updateChanged(ctx context.Context, secret *corev1.Secret) error {
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, annotationChanged, c.Clock.Now().UTC().Format(time.RFC3339))
	if _, err := c.Client.CoreV1().Secrets(c.Namespace).Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("updating secret %s: %w", secret.Name, err)
	}
	return nil
}

// current reports whether a Secret has what members or clients are to be given.
func (a *authority) current(secret *corev1.Secret) bool {
	return bytes.Equal(secret.Data[caCert], a.bundle())
}
