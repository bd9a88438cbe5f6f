package devcluster

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// newCredentials makes the certificates of a cluster.
func newCredentials(t *testing.T, l layout) *credentials {
	t.Helper()
	if err := makeCredentials(l, ""); err != nil {
		t.Fatal(err)
	}
	c, err := loadCredentials(l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCertificates(t *testing.T) {
	l := newLayout(t)
	c := newCredentials(t, l)
	cas := map[string]*keyPair{clusterCA: c.cluster, frontProxyCA: c.frontProxy, etcdCA: c.etcd}
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	tests := []struct {
		file, ca string
		usage    x509.ExtKeyUsage
		names    []string
		user     string
		groups   []string
	}{
		{file: kubeAPIServer, ca: clusterCA, usage: server,
			names: []string{"localhost", "127.0.0.1", "kubernetes.default.svc", serviceIP}},
		{file: kubeControllerManager, ca: clusterCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: kubeScheduler, ca: clusterCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: websiteAPIServer, ca: clusterCA, usage: server,
			names: []string{"localhost", "127.0.0.1", "website-apiserver.website-system.svc"}},
		{file: websiteController, ca: clusterCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: etcd, ca: etcdCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: etcd, ca: etcdCA, usage: client},
		{file: etcdClient, ca: etcdCA, usage: client},
		{file: frontProxy, ca: frontProxyCA, usage: client, user: "front-proxy-client"},
		{file: "admin-client", ca: clusterCA, usage: client, user: "devcluster-admin", groups: []string{"system:masters"}},
		{file: "kube-scheduler-client", ca: clusterCA, usage: client, user: "system:kube-scheduler"},
		{file: "kube-controller-manager-client", ca: clusterCA, usage: client, user: "system:kube-controller-manager"},
		{file: "website-apiserver-client", ca: clusterCA, usage: client,
			user:   "system:serviceaccount:website-system:website-apiserver",
			groups: []string{"system:serviceaccounts", "system:serviceaccounts:website-system"}},
		{file: "website-controller-client", ca: clusterCA, usage: client,
			user:   "system:serviceaccount:website-system:website-controller",
			groups: []string{"system:serviceaccounts", "system:serviceaccounts:website-system"}},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			pair, err := loadKeyPair(l, test.file)
			if err != nil {
				t.Fatal(err)
			}
			for name, ca := range cas {
				roots := x509.NewCertPool()
				roots.AddCert(ca.cert)
				_, err := pair.cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{test.usage}})
				if trusted := err == nil; trusted != (name == test.ca) {
					t.Errorf("trusted by %s: %t (%v)", name, trusted, err)
				}
			}
			for _, name := range test.names {
				if err := pair.cert.VerifyHostname(name); err != nil {
					t.Error(err)
				}
			}
			if test.user != "" && (pair.cert.Subject.CommonName != test.user ||
				!slices.Equal(pair.cert.Subject.Organization, test.groups)) {
				t.Errorf("subject = %s, want user %s in groups %v", pair.cert.Subject, test.user, test.groups)
			}
			info, err := os.Stat(l.key(test.file))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("key file: %v, %v, want mode 0600", info.Mode(), err)
			}
		})
	}
}

// TestStartAgain: pods and kubeconfigs of users outlive a start, and trust the former CAs.
func TestStartAgain(t *testing.T) {
	l := newLayout(t)
	newCredentials(t, l)
	names := []string{clusterCA, frontProxyCA, etcdCA, serviceAccount, websiteAPIServer}
	before := map[string]*keyPair{}
	for _, name := range names {
		pair, err := loadKeyPair(l, name)
		if err != nil {
			t.Fatal(err)
		}
		before[name] = pair
	}
	newCredentials(t, l)
	for _, name := range names {
		pair, err := loadKeyPair(l, name)
		if err != nil {
			t.Fatal(err)
		}
		if kept := pair.cert.Equal(before[name].cert); kept != (name != websiteAPIServer) {
			t.Errorf("%s: kept is %t", name, kept)
		}
	}
	writeTestFile(t, l.key(clusterCA), "")
	if err := makeCredentials(l, ""); err == nil {
		t.Error("a damaged key of the CA was accepted")
	}
}

func TestKubeconfig(t *testing.T) {
	l := newLayout(t)
	c := newCredentials(t, l)
	if err := c.writeKubeconfigs(l, 12345); err != nil {
		t.Fatal(err)
	}
	for _, id := range identities {
		path := l.kubeconfig(id.name)
		if id.name == adminUser {
			path = l.adminKubeconfig()
		}
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Errorf("%s: %v", id.name, err)
			continue
		}
		if config.Host != "https://127.0.0.1:12345" || config.Insecure || string(config.CAData) != string(c.cluster.certPEM) {
			t.Errorf("%s: connects to %s with CA %q", id.name, config.Host, config.CAData)
		}
		pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
		if err != nil {
			t.Errorf("%s: %v", id.name, err)
		} else if pair.Leaf.Subject.CommonName != id.user {
			t.Errorf("%s: user is %s, want %s", id.name, pair.Leaf.Subject.CommonName, id.user)
		}
	}
}

func TestUserConfig(t *testing.T) {
	l := newLayout(t)
	credentials := newCredentials(t, l)
	c := &Cluster{credentials: credentials, plan: &plan{layout: l, settings: settings{Ports: DefaultPorts(7000)}}}
	path := l.kubeconfig("jane")
	if err := c.WriteKubeconfig(path, "jane", "editors", "viewers"); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.Leaf.CheckSignatureFrom(credentials.cluster.cert); err != nil {
		t.Error(err)
	}
	if got := pair.Leaf.Subject.String(); !strings.Contains(got, "CN=jane") || !strings.Contains(got, "editors") ||
		!strings.Contains(got, "viewers") {
		t.Errorf("subject = %s", got)
	}
}
