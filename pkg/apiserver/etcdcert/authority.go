package etcdcert

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/certificates"
)

// authority returns the CA, and generates it if there are no certificates yet.
func (c Config) authority(ctx context.Context) (*certificates.Pair, error) {
	secrets, name := c.Client.CoreV1().Secrets(c.Namespace), c.Name+"-ca"
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		ca, err := parse(secret.Data)
		if err != nil {
			return nil, fmt.Errorf("reading secret %s: %w", name, err)
		}
		return ca, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("getting secret %s: %w", name, err)
	}
	// Running members do not trust certificates of a new CA.
	for _, used := range []string{c.Name + "-server", c.Name + "-client"} {
		_, err := secrets.Get(ctx, used, metav1.GetOptions{})
		if err == nil {
			return nil, fmt.Errorf("secret %s is missing, and secret %s has a certificate of that CA: restore it, or delete "+
				"secret %s, and restart etcd and website-apiserver afterwards", name, used, used)
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("getting secret %s: %w", used, err)
		}
	}
	ca, err := certificates.NewAuthority(c.Name, c.Clock.Now(), c.CALifetime)
	if err != nil {
		return nil, fmt.Errorf("generating the CA of etcd: %w", err)
	}
	return ca, c.create(ctx, name, ca, ca)
}
