package devcluster

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

func TestCertificates(t *testing.T) {
	l := newLayout(t)
	c, err := ensureCredentials(l, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ensureKubeconfigs(l, 6443); err != nil {
		t.Fatal(err)
	}
	cas := map[string]*keyPair{clusterCA: c.cluster, servingCA: c.serving, frontProxyCA: c.frontProxy, etcdCA: c.etcd, websiteEtcdCA: c.websiteEtcd}
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	tests := []struct {
		file, ca string
		usage    x509.ExtKeyUsage
		names    []string
		user     string
		groups   []string
	}{
		{file: kubeAPIServer, ca: servingCA, usage: server, names: []string{"localhost", "127.0.0.1", "kubernetes.default.svc", serviceIP}},
		{file: kubeControllerManager, ca: servingCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: kubeScheduler, ca: servingCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: websiteAPIServer, ca: servingCA, usage: server, names: []string{"localhost", "127.0.0.1", "website-apiserver.website-system.svc"}},
		{file: websiteController, ca: servingCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: etcd, ca: etcdCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: etcd, ca: etcdCA, usage: client},
		{file: etcdClient, ca: etcdCA, usage: client},
		{file: websiteEtcd, ca: websiteEtcdCA, usage: server, names: []string{"localhost", "127.0.0.1"}},
		{file: websiteEtcdClient, ca: websiteEtcdCA, usage: client, user: "website-apiserver"},
		{file: frontProxy, ca: frontProxyCA, usage: client, user: "front-proxy-client"},
		{file: "admin-client", ca: clusterCA, usage: client, user: "devcluster-admin", groups: []string{"system:masters"}},
		{file: "kube-scheduler-client", ca: clusterCA, usage: client, user: "system:kube-scheduler"},
		{file: "kube-controller-manager-client", ca: clusterCA, usage: client, user: "system:kube-controller-manager"},
		{file: "website-apiserver-client", ca: clusterCA, usage: client, user: "system:serviceaccount:website-system:website-apiserver",
			groups: []string{"system:serviceaccounts", "system:serviceaccounts:website-system"}},
		{file: "website-controller-client", ca: clusterCA, usage: client, user: "system:serviceaccount:website-system:website-controller",
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
			if test.user != "" && (pair.cert.Subject.CommonName != test.user || !slices.Equal(pair.cert.Subject.Organization, test.groups)) {
				t.Errorf("subject = %s, want user %s in groups %v", pair.cert.Subject, test.user, test.groups)
			}
			info, err := os.Stat(l.key(test.file))
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("key file: %v, %v, want mode 0600", info.Mode(), err)
			}
		})
	}
}

func TestCertificatesAreKeptWhileGood(t *testing.T) {
	l := newLayout(t)
	load := func() (ca, cert *keyPair) {
		t.Helper()
		if _, err := ensureCredentials(l, ""); err != nil {
			t.Fatal(err)
		}
		var err error
		if ca, err = loadKeyPair(l, servingCA); err != nil {
			t.Fatal(err)
		}
		if cert, err = loadKeyPair(l, websiteAPIServer); err != nil {
			t.Fatal(err)
		}
		return ca, cert
	}
	firstCA, first := load()
	keptCA, kept := load()
	if !firstCA.cert.Equal(keptCA.cert) || !first.cert.Equal(kept.cert) {
		t.Error("a second run replaced good certificates")
	}
	if err := os.Remove(l.key(servingCA)); err != nil {
		t.Fatal(err)
	}
	newCA, renewed := load()
	if newCA.cert.Equal(keptCA.cert) || renewed.cert.Equal(kept.cert) {
		t.Error("a lost CA was not replaced together with what it had signed")
	}
}

func TestServes(t *testing.T) {
	ca, err := newCA("one")
	if err != nil {
		t.Fatal(err)
	}
	other, err := newCA("one") // same name, other key
	if err != nil {
		t.Fatal(err)
	}
	want := leaf{commonName: "a", organizations: []string{"g"}, dns: []string{"localhost"}, ips: []net.IP{net.IPv4(127, 0, 0, 1)}, server: true}
	good, err := newLeaf(ca, want)
	if err != nil {
		t.Fatal(err)
	}
	expiring, err := issue(ca, &x509.Certificate{Subject: good.cert.Subject, NotAfter: time.Now().Add(renewBefore / 2),
		DNSNames: want.dns, IPAddresses: want.ips, ExtKeyUsage: want.usages()})
	if err != nil {
		t.Fatal(err)
	}
	change := func(edit func(*leaf)) leaf {
		changed := want
		edit(&changed)
		return changed
	}
	tests := []struct {
		name string
		pair *keyPair
		ca   *keyPair
		leaf leaf
		want bool
	}{
		{"good", good, ca, want, true},
		{"expires soon", expiring, ca, want, false},
		{"other CA", good, other, want, false},
		{"other user", good, ca, change(func(l *leaf) { l.commonName = "b" }), false},
		{"other group", good, ca, change(func(l *leaf) { l.organizations = nil }), false},
		{"further name", good, ca, change(func(l *leaf) { l.dns = []string{"localhost", "more"} }), false},
		{"further address", good, ca, change(func(l *leaf) { l.ips = nil }), false},
		{"other use", good, ca, change(func(l *leaf) { l.client = true }), false},
	}
	for _, test := range tests {
		if got := test.pair.serves(test.ca, test.leaf); got != test.want {
			t.Errorf("%s: serves = %t, want %t", test.name, got, test.want)
		}
	}
}

func TestKubeconfig(t *testing.T) {
	l := newLayout(t)
	c, err := ensureCredentials(l, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ensureKubeconfigs(l, 12345); err != nil {
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
		if config.Host != "https://127.0.0.1:12345" || config.Insecure || string(config.CAData) != string(c.serving.certPEM) {
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
	credentials, err := ensureCredentials(l, "")
	if err != nil {
		t.Fatal(err)
	}
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
	if got := pair.Leaf.Subject.String(); !strings.Contains(got, "CN=jane") || !strings.Contains(got, "editors") || !strings.Contains(got, "viewers") {
		t.Errorf("subject = %s", got)
	}
}
