package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/client-go/util/retry"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// flagValue returns the value of the last flag of that name.
func flagValue(t *testing.T, args []string, name string) string {
	t.Helper()
	value, found := "", false
	for _, arg := range args {
		if v, ok := strings.CutPrefix(arg, name+"="); ok {
			value, found = v, true
		}
	}
	if !found {
		t.Fatalf("no flag %s in %v", name, args)
	}
	return value
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	framework.WriteFile(t, to, data)
}

// TestServingCertificateIsReloaded replaces the files, as cert-manager and the kubelet do: the next
// handshake presents the new certificate.
func TestServingCertificateIsReloaded(t *testing.T) {
	t.Parallel()
	dir, args := t.TempDir(), framework.Cluster.Process("website-apiserver").Args()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	copyFile(t, flagValue(t, args, "--tls-cert-file"), certFile)
	copyFile(t, flagValue(t, args, "--tls-private-key-file"), keyFile)
	s := framework.NewServer(t, "--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile)
	pid := s.PID()

	newCert, newKey, err := cert.GenerateSelfSignedCertKey("renewed.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	framework.WriteFile(t, keyFile, newKey)
	framework.WriteFile(t, certFile, newCert)
	framework.WaitFor(t, "the server shows the new certificate", func(ctx context.Context) error {
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(s.URL, "https://"))
		if err != nil {
			return err
		}
		defer connection.Close()
		if shown := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]; !strings.HasPrefix(shown.Subject.CommonName,
			"renewed.example.com") {
			return fmt.Errorf("it shows the certificate of %s", shown.Subject.CommonName)
		}
		return nil
	})
	if s.PID() != pid {
		t.Error("the server was restarted")
	}
}

// ca is a CA that the cluster does not trust yet.
type ca struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newCA(t *testing.T, name string) ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name}, key)
	if err != nil {
		t.Fatal(err)
	}
	return ca{certificate, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))}
}

// client makes a client certificate.
func (a ca) client(t *testing.T, subject pkix.Name) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject: subject, SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestCAsAreReloaded adds CAs to the ConfigMap with the cluster's client and request-header CAs:
// first for a client, then for the aggregator.
func TestCAsAreReloaded(t *testing.T) {
	t.Parallel()
	websites := framework.Cluster.WebsiteAPIServerURL() + "/apis/" + v1alpha1.SchemeGroupVersion.String() + "/websites"
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(framework.Cluster.ServingCA())
	tests := map[string]struct {
		key     string
		subject pkix.Name
		headers map[string]string
	}{
		"client": {key: "client-ca-file",
			subject: pkix.Name{CommonName: "another", Organization: []string{"system:masters"}}},
		"aggregator": {key: "requestheader-client-ca-file", subject: pkix.Name{CommonName: "front-proxy-client"},
			headers: map[string]string{"X-Remote-User": "another", "X-Remote-Group": "system:masters"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pid := framework.Cluster.Process("website-apiserver").PID()
			ca := newCA(t, "rotated-"+name)
			certificate := ca.client(t, test.subject)
			get := func(ctx context.Context) (int, string, error) {
				client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
					RootCAs: roots,
					// The client presents it although the server does not list its CA.
					GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil },
				}, DisableKeepAlives: true}}
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, websites, nil)
				if err != nil {
					return 0, "", err
				}
				for key, value := range test.headers {
					request.Header.Set(key, value)
				}
				response, err := client.Do(request)
				if err != nil {
					return 0, "", err
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				return response.StatusCode, string(body), err
			}
			if code, body, err := get(t.Context()); err != nil || code != http.StatusUnauthorized &&
				code != http.StatusForbidden {
				t.Fatalf("with a certificate of an unknown CA: %d %s (%v), want a refusal", code, body, err)
			}
			changeTrust(t.Context(), t, test.key, func(bundle string) string { return bundle + ca.pem })
			t.Cleanup(func() {
				changeTrust(context.Background(), t, test.key,
					func(bundle string) string { return strings.ReplaceAll(bundle, ca.pem, "") })
			})
			framework.WaitFor(t, "the new CA is trusted", func(ctx context.Context) error {
				code, body, err := get(ctx)
				if err != nil {
					return err
				}
				if code != http.StatusOK {
					return fmt.Errorf("got %d %s", code, body)
				}
				return nil
			})
			if framework.Cluster.Process("website-apiserver").PID() != pid {
				t.Error("the server was restarted")
			}
		})
	}
}

// changeTrust changes one bundle of the cluster's ConfigMap.
func changeTrust(ctx context.Context, t *testing.T, key string, change func(bundle string) string) {
	t.Helper()
	configMaps := framework.Admin(t).Kubernetes.CoreV1().ConfigMaps("kube-system")
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		trust, err := configMaps.Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
		if err != nil {
			return err
		}
		trust.Data[key] = change(trust.Data[key])
		_, err = configMaps.Update(ctx, trust, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Errorf("changing %s: %v", key, err)
	}
}
