package etcdcert

import (
	"bytes"
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apiserver/certificates"
)

const day = 24 * time.Hour

// newConfig returns the configuration of three members, with a time that the test sets.
func newConfig() (Config, *clocktesting.FakePassiveClock) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return Config{
		Client: fake.NewClientset(), Namespace: "system", Name: "etcd", Members: 3,
		Lifetime: 90 * day, CALifetime: 3650 * day, Clock: now,
	}, now
}

// ensured runs Ensure and returns the three Secrets.
func ensured(t *testing.T, c Config) map[string]*certificates.Pair {
	t.Helper()
	if err := c.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	secrets, err := c.Client.CoreV1().Secrets(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(secrets.Items) != 3 {
		t.Fatalf("there are %d Secrets, %v", len(secrets.Items), err)
	}
	pairs := map[string]*certificates.Pair{}
	for _, secret := range secrets.Items {
		p, err := parse(secret.Data)
		if err != nil {
			t.Fatalf("%s: %v", secret.Name, err)
		}
		if secret.Name != "etcd-ca" && len(secret.Data) != 3 {
			t.Errorf("%s has %d entries: the key of the CA must not be there", secret.Name, len(secret.Data))
		}
		pairs[secret.Name] = p
	}
	return pairs
}

func TestCertificates(t *testing.T) {
	c, now := newConfig()
	pairs := ensured(t, c)
	roots := x509.NewCertPool()
	roots.AddCert(pairs["etcd-ca"].Certificate)
	for name, usages := range map[string][]x509.ExtKeyUsage{
		"etcd-server": {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		"etcd-client": {x509.ExtKeyUsageClientAuth},
	} {
		for _, usage := range usages {
			if _, err := pairs[name].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now.Now(),
				KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, host := range []string{"etcd-0.etcd", "etcd-2.etcd.system.svc", "localhost"} {
		if err := pairs["etcd-server"].VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if got := pairs["etcd-server"].Subject.CommonName; got != "etcd" {
		t.Errorf("the members are %s", got)
	}
	if got := pairs["etcd-client"]; got.Subject.CommonName != "website-apiserver" ||
		slices.Contains(got.ExtKeyUsage, x509.ExtKeyUsageServerAuth) || got.DNSNames != nil {
		t.Errorf("the client is %s with %v for %v", got.Subject, got.ExtKeyUsage, got.DNSNames)
	}
}

func TestRotation(t *testing.T) {
	c, now := newConfig()
	first := ensured(t, c)
	for _, test := range []struct {
		name  string
		after time.Duration
		same  bool
	}{
		{"before two thirds", 59 * day, true},
		{"after two thirds", 61 * day, false},
		{"expired", 900 * day, false},
	} {
		now.SetTime(first["etcd-server"].NotBefore.Add(test.after))
		pairs := ensured(t, c)
		for _, secret := range []string{"etcd-server", "etcd-client"} {
			if same := bytes.Equal(pairs[secret].Raw, first[secret].Raw); same != test.same {
				t.Errorf("%s: the same certificate in %s: %t, want %t", test.name, secret, same, test.same)
			}
			if err := pairs[secret].CheckSignatureFrom(first["etcd-ca"].Certificate); err != nil {
				t.Errorf("%s: %s: %v", test.name, secret, err)
			}
		}
		first = pairs
	}
	c.Members = 5
	if err := ensured(t, c)["etcd-server"].VerifyHostname("etcd-4.etcd"); err != nil {
		t.Errorf("a fifth member: %v", err)
	}
}

// A new CA would disconnect the members from each other.
func TestMissingCA(t *testing.T) {
	c, _ := newConfig()
	ensured(t, c)
	secrets := c.Client.CoreV1().Secrets(c.Namespace)
	if err := secrets.Delete(t.Context(), "etcd-ca", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "secret etcd-ca is missing") {
		t.Fatalf("Ensure = %v", err)
	}
	for _, name := range []string{"etcd-server", "etcd-client"} {
		if err := secrets.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ensured(t, c)
}

// TestAnotherCA: certificates follow the CA that an administrator has put into the Secret.
func TestAnotherCA(t *testing.T) {
	c, _ := newConfig()
	ensured(t, c)
	ca, err := certificates.NewAuthority(c.Name, c.Clock.Now(), c.CALifetime)
	if err != nil {
		t.Fatal(err)
	}
	secrets := c.Client.CoreV1().Secrets(c.Namespace)
	secret, err := secrets.Get(t.Context(), "etcd-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data = data(ca, ca)
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pairs := ensured(t, c)
	for _, name := range []string{"etcd-server", "etcd-client"} {
		if err := pairs[name].CheckSignatureFrom(ca.Certificate); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
