package framework

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

// EtcdStore locates the objects of a website-apiserver in etcd.
type EtcdStore struct {
	Endpoint string
	TLS      *tls.Config
	// Prefix is the common prefix of the keys of all Websites.
	Prefix string
}

// websitesPrefix follows --etcd-prefix in the key of a Website.
const websitesPrefix = "/mycontroller.nevermosby.io/websites/"

// ClusterStore returns the store of the server behind the aggregator.
func ClusterStore(t *testing.T) EtcdStore {
	t.Helper()
	s, err := clusterStore()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func clusterStore() (s EtcdStore, err error) {
	s.Prefix = "/registry" + websitesPrefix
	if Cluster.HasExternalEtcd() {
		s.Endpoint, s.TLS, err = Cluster.WebsiteEtcd()
	} else {
		s.Endpoint, err = embeddedetcd.Endpoint(Cluster.WebsiteDataDir())
	}
	return s, err
}

// Client returns a client that is closed when the test ends.
func (s EtcdStore) Client(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (s EtcdStore) open() (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint}, TLS: s.TLS,
		DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("connecting to the store: %w", err)
	}
	return client, nil
}

// Values returns the bytes of all stored Websites, by namespace/name.
func (s EtcdStore) Values(t *testing.T) map[string]string {
	t.Helper()
	got, err := s.Client(t).Get(t.Context(), s.Prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, pair := range got.Kvs {
		values[strings.TrimPrefix(string(pair.Key), s.Prefix)] = string(pair.Value)
	}
	return values
}

// NewStore returns an empty store, and the flag by which a server uses it.
func NewStore(t *testing.T, name string) (store EtcdStore, flag string) {
	t.Helper()
	store = ClusterStore(t)
	if Cluster.HasExternalEtcd() {
		store.Prefix = "/" + name + websitesPrefix
		return store, "--etcd-prefix=/" + name
	}
	// The path is short, as it contains a Unix socket.
	dataDir, err := os.MkdirTemp("/tmp", "websites-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dataDir) })
	if store.Endpoint, err = embeddedetcd.Endpoint(dataDir); err != nil {
		t.Fatal(err)
	}
	return store, "--data-dir=" + dataDir
}

// NewRecordNamespace creates a namespace for a server's record of its store.
func NewRecordNamespace(t *testing.T) string {
	t.Helper()
	ctx, namespace, client := t.Context(), NewNamespace(t), Admin(t).Kubernetes.RbacV1()
	role, err := client.Roles("website-system").Get(ctx, "website-apiserver-store", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.ObjectMeta = metav1.ObjectMeta{Name: role.Name}
	if _, err := client.Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:authenticated"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}
	if _, err := client.RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return namespace
}

// AcceptStore runs the operator's command that accepts the store of a server with these flags,
// which opens the server.
func AcceptStore(t *testing.T, flags []string) {
	t.Helper()
	command := []string{"store", "accept", "--kubeconfig=" + Cluster.Kubeconfig()}
	for _, flag := range flags {
		for _, prefix := range []string{"--data-dir=", "--etcd-", "--store-record-namespace=",
			"--encryption-provider-config="} {
			if strings.HasPrefix(flag, prefix) {
				command = append(command, flag)
			}
		}
	}
	program := Cluster.Process("website-apiserver").Args()[0]
	WaitFor(t, "the store is accepted", func(ctx context.Context) error {
		output, err := exec.CommandContext(ctx, program, command...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%v: %w: %s", command, err, output)
		}
		return nil
	})
}
