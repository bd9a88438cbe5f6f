package devcluster

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// Names of files in the pki directory.
const (
	clusterCA      = "ca"             // signs clients of kube-apiserver, servers and hosts
	frontProxyCA   = "front-proxy-ca" // signs kube-apiserver as a proxy in front of website-apiserver
	etcdCA         = "etcd-ca"        // signs members and clients of etcd
	etcdClient     = "etcd-client"
	frontProxy     = "front-proxy-client"
	serviceAccount = "service-account"
)

// Names of identities; each has a kubeconfig of that name.
const (
	adminUser = "admin"
	// frontProxyUser is the only name that website-apiserver accepts as a proxy.
	frontProxyUser = "front-proxy-client"
	mastersGroup   = "system:masters"
)

// websiteNamespace is the namespace of the ServiceAccounts in artifacts/rbac.
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
	{websiteAPIServer, "system:serviceaccount:" + websiteNamespace + ":" + websiteAPIServer,
		serviceAccountGroups(websiteNamespace)},
	{websiteController, "system:serviceaccount:" + websiteNamespace + ":" + websiteController,
		serviceAccountGroups(websiteNamespace)},
}

func serviceAccountGroups(namespace string) []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
}

// serviceIP is the first address of serviceRange, the address of kube-apiserver's own Service.
const (
	serviceRange = "10.96.0.0/16"
	serviceIP    = "10.96.0.1"
)

// credentials are used by this package itself; all others are in files.
type credentials struct {
	cluster, frontProxy, etcd      *keyPair
	admin, etcdClient, proxyClient *keyPair
}

// makeCredentials makes the certificates of a cluster, and its CAs and the key of tokens unless they
// exist: pods and the developer's kubeconfig outlive a start. host is the address of kube-apiserver
// for a real node, or empty.
func makeCredentials(l layout, host string) error {
	cas := map[string]*keyPair{}
	for _, name := range []string{clusterCA, frontProxyCA, etcdCA} {
		var err error
		if cas[name], err = ensureCA(l, name); err != nil {
			return err
		}
	}
	local := func(names ...string) leaf {
		return leaf{commonName: "localhost", dns: append([]string{"localhost"}, names...),
			ips: []net.IP{net.IPv4(127, 0, 0, 1)}, server: true}
	}
	apiServer := local("kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local")
	apiServer.ips = append(apiServer.ips, net.ParseIP(serviceIP))
	if host != "" {
		apiServer.ips = append(apiServer.ips, net.ParseIP(host))
	}
	member := local()
	member.client = true // etcd members are clients of each other
	leaves := map[string]signedLeaf{
		kubeAPIServer:         {clusterCA, apiServer},
		kubeControllerManager: {clusterCA, local()},
		kubeScheduler:         {clusterCA, local()},
		// kube-apiserver verifies the name of the Service, whatever its address.
		websiteAPIServer:  {clusterCA, local(websiteAPIServer + "." + websiteNamespace + ".svc")},
		websiteController: {clusterCA, local()},
		etcd:              {etcdCA, member},
		etcdClient:        {etcdCA, leaf{commonName: kubeAPIServer, client: true}},
		frontProxy:        {frontProxyCA, leaf{commonName: frontProxyUser, client: true}},
	}
	for _, id := range identities {
		leaves[clientOf(id.name)] = signedLeaf{clusterCA, leaf{commonName: id.user, organizations: id.groups, client: true}}
	}
	for name, signed := range leaves {
		if err := makeLeaf(l, name, cas[signed.ca], signed.leaf); err != nil {
			return err
		}
	}
	return ensureServiceAccountKey(l)
}

// signedLeaf is a certificate that the CA of that name signs.
type signedLeaf struct {
	ca   string
	leaf leaf
}

// clientOf names the client certificate of a component.
func clientOf(component string) string { return component + "-client" }

// loadCredentials reads the files of makeCredentials.
func loadCredentials(l layout) (*credentials, error) {
	var c credentials
	for name, pair := range map[string]**keyPair{
		clusterCA: &c.cluster, frontProxyCA: &c.frontProxy, etcdCA: &c.etcd,
		clientOf(adminUser): &c.admin, etcdClient: &c.etcdClient, frontProxy: &c.proxyClient,
	} {
		var err error
		if *pair, err = loadKeyPair(l, name); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// ensureServiceAccountKey generates the key that signs the tokens of ServiceAccounts, and
// writes its public key, which verifies them.
func ensureServiceAccountKey(l layout) error {
	pair, err := ensureCA(l, serviceAccount)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(pair.key.Public())
	if err != nil {
		return fmt.Errorf("encoding the public key of service account tokens: %w", err)
	}
	return writeFile(serviceAccountPublicKey(l),
		pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: der}), 0o644)
}

func serviceAccountPublicKey(l layout) string { return filepath.Join(l.pki(), serviceAccount+".pub") }

// writeKubeconfigs writes the kubeconfig of every identity.
func (c *credentials) writeKubeconfigs(l layout, apiServerPort int) error {
	for _, id := range identities {
		path := l.kubeconfig(id.name)
		if id.name == adminUser {
			path = l.adminKubeconfig()
		}
		pair, err := loadKeyPair(l, clientOf(id.name))
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(path, c.restConfig(pair, apiServerPort)); err != nil {
			return err
		}
	}
	return nil
}

// restConfig returns a client configuration for kube-apiserver with this certificate
// and without a rate limit: the server has its own.
func (c *credentials) restConfig(pair *keyPair, apiServerPort int) *rest.Config {
	return c.restConfigAt(pair, httpsURL(apiServerPort))
}

func (c *credentials) restConfigAt(pair *keyPair, url string) *rest.Config {
	return &rest.Config{
		Host:  url,
		QPS:   -1,
		Burst: -1,
		// Everything is on one machine.
		DisableCompression: true,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.cluster.certPEM,
			CertData: pair.certPEM,
			KeyData:  pair.keyPEM,
		},
	}
}

// WriteKubeconfig writes a client configuration as a self-contained kubeconfig file that only its owner may read.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "devcluster"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, DisableCompression: config.DisableCompression,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	data, err := clientcmd.Write(*file)
	if err != nil {
		return fmt.Errorf("encoding kubeconfig %s: %w", path, err)
	}
	return writeFile(path, data, 0o600)
}
