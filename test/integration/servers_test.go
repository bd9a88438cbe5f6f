package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/apiserver/embeddedetcd"
)

// etcdStore is where a website-apiserver keeps its objects.
type etcdStore struct {
	endpoint string
	tls      *tls.Config
	// prefix is what the keys of all Websites begin with.
	prefix string
}

// websitesPrefix follows --etcd-prefix in the key of a Website.
const websitesPrefix = "/mycontroller.nevermosby.io/websites/"

// clusterStore is that of the server which the aggregator uses.
func clusterStore(t *testing.T) etcdStore {
	t.Helper()
	s := etcdStore{prefix: "/registry" + websitesPrefix}
	var err error
	if *externalEtcd {
		s.endpoint, s.tls, err = cluster.WebsiteEtcd()
	} else {
		s.endpoint, err = embeddedetcd.Endpoint(cluster.WebsiteDataDir())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s etcdStore) client(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.endpoint}, TLS: s.tls, DialTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// values returns the bytes of all stored Websites, by namespace/name.
func (s etcdStore) values(t *testing.T) map[string]string {
	t.Helper()
	got, err := s.client(t).Get(t.Context(), s.prefix, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, pair := range got.Kvs {
		values[strings.TrimPrefix(string(pair.Key), s.prefix)] = string(pair.Value)
	}
	return values
}

// newStore is an empty one, with the flag by which a server uses it.
func newStore(t *testing.T, name string) (store etcdStore, flag string) {
	t.Helper()
	store = clusterStore(t)
	if *externalEtcd {
		store.prefix = "/" + name + websitesPrefix
		return store, "--etcd-prefix=/" + name
	}
	// Short, for the sake of the socket in it.
	dataDir, err := os.MkdirTemp("/tmp", "websites-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dataDir) })
	if store.endpoint, err = embeddedetcd.Endpoint(dataDir); err != nil {
		t.Fatal(err)
	}
	return store, "--data-dir=" + dataDir
}

// server is a website-apiserver of one test, with a store of its own. The
// cluster decides who may do what, but its aggregator knows nothing of it.
type server struct {
	*devcluster.Process
	url   string
	store etcdStore
}

// startServer starts a website-apiserver with further flags and does not wait
// until it is ready. It is stopped when the test ends.
//
// The objects of the cluster are owned by Websites of another store, so the server
// is closed until its own is accepted.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	name := "apiserver-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	store, flag := newStore(t, name)
	s := &server{store: store}
	args = append([]string{flag, "--store-record-namespace=" + newRecordNamespace(t)}, args...)
	var err error
	if s.Process, s.url, err = cluster.StartAPIServer(t.Context(), name, args...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	acceptStore(t, s.Args()[1:])
	return s
}

// newRecordNamespace is one in which a server may record its store.
func newRecordNamespace(t *testing.T) string {
	t.Helper()
	ctx, namespace, client := t.Context(), newNamespace(t), admin(t).kubernetes.RbacV1()
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

// acceptStore opens the server with these flags, by the command that an operator
// runs.
func acceptStore(t *testing.T, flags []string) {
	t.Helper()
	command := []string{"store", "accept", "--kubeconfig=" + cluster.Kubeconfig()}
	for _, flag := range flags {
		for _, prefix := range []string{"--data-dir=", "--etcd-", "--store-record-namespace=", "--encryption-provider-config="} {
			if strings.HasPrefix(flag, prefix) {
				command = append(command, flag)
			}
		}
	}
	program := cluster.Process("website-apiserver").Args()[0]
	waitFor(t, "the store is accepted", func(ctx context.Context) error {
		output, err := exec.CommandContext(ctx, program, command...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%v: %w: %s", command, err, output)
		}
		return nil
	})
}

// waitOpen waits until the server serves Websites.
func (s *server) waitOpen(t *testing.T) {
	t.Helper()
	websites := newClients(t, s.config(t)).websites.WebsiteV1beta1().Websites(metav1.NamespaceDefault)
	waitFor(t, "the server is open", func(ctx context.Context) error {
		_, err := websites.List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}

// newServer starts a website-apiserver with further flags and waits until it is
// ready.
func newServer(t *testing.T, args ...string) *server {
	t.Helper()
	s := startServer(t, args...)
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.waitOpen(t)
	return s
}

// config is for a user who may do everything.
func (s *server) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := cluster.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Host = s.url
	return config
}

// log returns what the server has written to its log.
func (s *server) log(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(s.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// unready waits until the server is not ready because a check fails.
func (s *server) unready(t *testing.T, because string) {
	t.Helper()
	s.fails(t, "/readyz", because)
}

// fails waits until the server answers at path that a check fails.
func (s *server) fails(t *testing.T, path, check string) {
	t.Helper()
	waitFor(t, "the check "+check+" of "+path+" fails", func(ctx context.Context) error {
		code, body, err := secureGet(ctx, t, s.url+path, false)
		if err != nil {
			return err
		}
		if code != http.StatusInternalServerError || !strings.Contains(body, "[-]"+check+" failed") {
			return fmt.Errorf("GET %s = %d %s", path, code, body)
		}
		return nil
	})
}

// writeFile writes a file of a test. The content is complete at once, as it is
// when a Secret or ConfigMap is mounted.
func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	temporary := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}
