package devcluster

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// Names of files in the pki directory.
const (
	clusterCA    = "cluster-ca"     // signs clients of kube-apiserver
	servingCA    = "serving-ca"     // signs servers
	frontProxyCA = "front-proxy-ca" // signs kube-apiserver as a proxy in front of website-apiserver
	etcdCA       = "etcd-ca"        // signs everything around etcd
	etcdClient   = "etcd-client"
	// website-apiserver must not be able to read kube-apiserver's store.
	websiteEtcdCA     = "website-etcd-ca" // signs everything around website-etcd
	websiteEtcdClient = "website-etcd-client"
	frontProxy        = "front-proxy-client"
	serviceAccount    = "service-account"
)

// Names of identities; each has a kubeconfig of that name.
const (
	adminUser = "admin"
	// frontProxyUser is the only name website-apiserver accepts as a proxy.
	frontProxyUser = "front-proxy-client"
	mastersGroup   = "system:masters"
)

// websiteNamespace is where artifacts/rbac puts the ServiceAccounts.
const websiteNamespace = "website-system"

// identities are the users of the components.
var identities = []struct {
	name, user string
	groups     []string
}{
	{adminUser, "devcluster-admin", []string{mastersGroup}},
	{kwok, "devcluster-kwok", []string{mastersGroup}},
	{kubeControllerManager, "system:kube-controller-manager", nil},
	{kubeScheduler, "system:kube-scheduler", nil},
	// Certificates for ServiceAccounts, with the groups of a token: these components have
	// only the permissions of artifacts/rbac.
	{websiteAPIServer, "system:serviceaccount:" + websiteNamespace + ":" + websiteAPIServer, serviceAccountGroups(websiteNamespace)},
	{websiteController, "system:serviceaccount:" + websiteNamespace + ":" + websiteController, serviceAccountGroups(websiteNamespace)},
}

func serviceAccountGroups(namespace string) []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
}

// serviceIP is the first address of serviceRange, which is kube-apiserver's own Service.
const (
	serviceRange = "10.96.0.0/16"
	serviceIP    = "10.96.0.1"
)

// credentials are the CAs of a cluster; everything else is in files.
type credentials struct {
	cluster, serving, frontProxy, etcd, websiteEtcd   *keyPair
	admin, etcdClient, websiteEtcdClient, proxyClient *keyPair
}

// ensureCredentials loads or makes all certificates and keys of a cluster.
// host is the address of kube-apiserver for a real node, or empty.
func ensureCredentials(l layout, host string) (*credentials, error) {
	var c credentials
	for name, ca := range map[string]**keyPair{clusterCA: &c.cluster, servingCA: &c.serving, frontProxyCA: &c.frontProxy, etcdCA: &c.etcd, websiteEtcdCA: &c.websiteEtcd} {
		var err error
		if *ca, err = ensureCA(l, name); err != nil {
			return nil, err
		}
	}
	local := func(names ...string) leaf {
		return leaf{commonName: "localhost", dns: append([]string{"localhost"}, names...), ips: []net.IP{net.IPv4(127, 0, 0, 1)}, server: true}
	}
	apiServer := local("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	apiServer.ips = append(apiServer.ips, net.ParseIP(serviceIP))
	if host != "" {
		apiServer.ips = append(apiServer.ips, net.ParseIP(host))
	}
	member := local()
	member.client = true // etcd members are clients of each other
	for name, cert := range map[string]struct {
		ca      *keyPair
		purpose leaf
	}{
		kubeAPIServer:         {c.serving, apiServer},
		kubeControllerManager: {c.serving, local()},
		kubeScheduler:         {c.serving, local()},
		// kube-apiserver verifies the name of the Service, wherever it leads.
		websiteAPIServer:  {c.serving, local(websiteAPIServer + "." + websiteNamespace + ".svc")},
		websiteController: {c.serving, local()},
		etcd:              {c.etcd, member},
		websiteEtcd:       {c.websiteEtcd, member},
	} {
		if _, err := ensureLeaf(l, name, cert.ca, cert.purpose); err != nil {
			return nil, err
		}
	}
	var err error
	if c.etcdClient, err = ensureLeaf(l, etcdClient, c.etcd, leaf{commonName: kubeAPIServer, client: true}); err != nil {
		return nil, err
	}
	if c.websiteEtcdClient, err = ensureLeaf(l, websiteEtcdClient, c.websiteEtcd, leaf{commonName: websiteAPIServer, client: true}); err != nil {
		return nil, err
	}
	if c.proxyClient, err = ensureLeaf(l, frontProxy, c.frontProxy, leaf{commonName: frontProxyUser, client: true}); err != nil {
		return nil, err
	}
	return &c, ensureServiceAccountKey(l)
}

// ensureServiceAccountKey generates the key that signs the tokens of ServiceAccounts, and
// writes its public key, which verifies them.
func ensureServiceAccountKey(l layout) error {
	pair, err := loadKeyPair(l, serviceAccount)
	if err != nil {
		if pair, err = newCA("devcluster " + serviceAccount); err != nil {
			return err
		}
		if err := pair.save(l, serviceAccount); err != nil {
			return err
		}
	}
	der, err := x509.MarshalPKIXPublicKey(pair.key.Public())
	if err != nil {
		return fmt.Errorf("encoding the public key of service account tokens: %w", err)
	}
	return writeFile(serviceAccountPublicKey(l), pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der}), 0o644)
}

func serviceAccountPublicKey(l layout) string { return filepath.Join(l.pki(), serviceAccount+".pub") }

// ensureKubeconfigs writes the kubeconfig of every identity.
func (c *credentials) ensureKubeconfigs(l layout, apiServerPort int) error {
	for _, id := range identities {
		pair, err := ensureLeaf(l, id.name+"-client", c.cluster, leaf{commonName: id.user, organizations: id.groups, client: true})
		if err != nil {
			return err
		}
		path := l.kubeconfig(id.name)
		if id.name == adminUser {
			path, c.admin = l.adminKubeconfig(), pair
		}
		if err := writeKubeconfig(path, c.restConfig(pair, apiServerPort), id.user); err != nil {
			return err
		}
	}
	return nil
}

// restConfig is a client of kube-apiserver with this certificate and no rate limit: the
// server has its own.
func (c *credentials) restConfig(pair *keyPair, apiServerPort int) *rest.Config {
	return c.restConfigAt(pair, httpsURL(apiServerPort))
}

func (c *credentials) restConfigAt(pair *keyPair, url string) *rest.Config {
	return &rest.Config{
		Host:  url,
		QPS:   -1,
		Burst: -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.serving.certPEM,
			CertData: pair.certPEM,
			KeyData:  pair.keyPEM,
		},
	}
}

// writeKubeconfig writes a client configuration as a file that needs no other files.
func writeKubeconfig(path string, config *rest.Config, user string) error {
	user = strings.ReplaceAll(user, ":", "-") // a mere label inside the file
	const cluster = "devcluster"
	file := clientcmdapi.NewConfig()
	file.Clusters[cluster] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	file.CurrentContext = cluster
	data, err := clientcmd.Write(*file)
	if err != nil {
		return fmt.Errorf("encoding kubeconfig %s: %w", path, err)
	}
	return writeFile(path, data, 0o600)
}
