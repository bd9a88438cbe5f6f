package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apiserver/etcdcert"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestEtcdCluster runs the etcd cluster of artifacts/ha beside the cluster: three members with the
// flags of its StatefulSet, and the certificates that etcd-certificates issues with the permissions
// of its Role. Websites can be written while a member is down, after the certificates have been
// replaced, and after the CA has been replaced as in docs/install.md.
func TestEtcdCluster(t *testing.T) {
	t.Parallel()
	e := newEtcdCluster(t)
	for member := range e.clients {
		e.start(t, member)
	}
	for member := range e.clients {
		e.waitReady(t, member)
	}

	flags := []string{"--etcd-servers=" + strings.Join(e.clients, ","),
		"--store-record-namespace=" + framework.NewRecordNamespace(t),
		"--etcd-cafile=" + e.file("client", "ca.crt"), "--etcd-certfile=" + e.file("client", "tls.crt"),
		"--etcd-keyfile=" + e.file("client", "tls.key")}
	server := &framework.Server{}
	var err error
	if server.Process, server.URL, err = framework.Cluster.StartAPIServer(t.Context(), "apiserver-etcdcluster",
		flags...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	framework.AcceptStore(t, flags)
	server.WaitOpen(t)
	e.mustWrite(t, server, "all-members")

	framework.WaitFor(t, "a member serves website-apiserver", func(context.Context) error {
		return e.get(t, e.clients[0]+"/health", true)
	})
	if err := e.get(t, e.clients[0]+"/health", false); err == nil {
		t.Error("a member serves clients without a certificate")
	}
	if err := e.get(t, e.peers[0]+"/members", true); err == nil {
		t.Error("a member takes website-apiserver for another member")
	}

	e.stop(t, 0)
	e.mustWrite(t, server, "without-one")

	before := e.served(t, 1)
	e.now.SetTime(time.Now())
	e.writeCertificates(t)
	if after := e.served(t, 1); bytes.Equal(before, after) {
		t.Error("a member serves its former certificate")
	}
	e.start(t, 0)
	e.waitReady(t, 0)
	e.stop(t, 1)
	e.mustWrite(t, server, "with-new-certificates")

	e.start(t, 1)
	e.waitReady(t, 1)
	e.replaceCA(t, server)
}

// replaceCA deletes the Secrets, and restarts members and server once they are created again.
func (e *etcdCluster) replaceCA(t *testing.T, server *framework.Server) {
	t.Helper()
	former, secrets := e.signer(t), framework.Admin(t).Kubernetes.CoreV1().Secrets(e.namespace)
	for _, secret := range []string{"ca", "server", "client"} {
		if err := secrets.Delete(t.Context(), e.certificates.Name+"-"+secret, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	e.writeCertificates(t)
	for member := range e.members {
		e.stop(t, member)
		e.start(t, member)
	}
	for member := range e.members {
		e.waitReady(t, member)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.WaitOpen(t)
	e.mustWrite(t, server, "with-a-new-ca")
	for member := range e.members {
		served, err := x509.ParseCertificate(e.served(t, member))
		if err != nil {
			t.Fatal(err)
		}
		if err := served.CheckSignatureFrom(former); err == nil {
			t.Errorf("member %d serves a certificate of the former CA", member)
		}
	}
}

// signer is the CA that signs certificates.
func (e *etcdCluster) signer(t *testing.T) *x509.Certificate {
	t.Helper()
	secret, err := framework.Admin(t).Kubernetes.CoreV1().Secrets(e.namespace).Get(t.Context(), e.certificates.Name+"-ca",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	certs, err := cert.ParseCertsPEM(secret.Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	return certs[0]
}

// The first certificates are valid, and due for renewal.
const (
	lifetime = 90 * 24 * time.Hour
	age      = lifetime * 3 / 4
)

// etcdCluster is the etcd cluster of artifacts/ha, with addresses on this machine.
type etcdCluster struct {
	certificates            etcdcert.Config
	now                     *clocktesting.FakePassiveClock
	dir                     string
	args                    []string
	clients, peers, metrics []string
	members                 []*exec.Cmd
	namespace               string
}

func newEtcdCluster(t *testing.T) *etcdCluster {
	t.Helper()
	e := &etcdCluster{dir: t.TempDir(), namespace: framework.NewNamespace(t),
		now: clocktesting.NewFakePassiveClock(time.Now().Add(-age)), members: make([]*exec.Cmd, 3)}
	var stateful appsv1.StatefulSet
	readKind(t, framework.Path("artifacts", "ha", "etcd.yaml"), "StatefulSet", &stateful)
	e.args = stateful.Spec.Template.Spec.Containers[0].Args
	var role rbacv1.Role
	readKind(t, framework.Path("artifacts", "ha", "etcd-certificates.yaml"), "Role", &role)
	framework.Allow(t, e.namespace, "etcd-certificates", role.Rules...)
	config, err := framework.Cluster.UserConfig("etcd-certificates")
	if err != nil {
		t.Fatal(err)
	}
	e.certificates = etcdcert.Config{
		Client: framework.NewClients(t, config).Kubernetes, Namespace: e.namespace, Name: stateful.Name,
		Members: len(e.members), Clock: e.now, Lifetime: lifetime, CALifetime: 10 * lifetime,
	}
	for range e.members {
		ports := freePorts(t, 3)
		e.clients = append(e.clients, "https://localhost:"+ports[0])
		e.peers = append(e.peers, "https://localhost:"+ports[1])
		e.metrics = append(e.metrics, "http://127.0.0.1:"+ports[2])
	}
	e.writeCertificates(t)
	return e
}

// readKind reads the first object of a kind in a file.
func readKind(t *testing.T, file, kind string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Kind == kind {
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s has no %s", file, kind)
}

// freePorts returns ports that no other test takes.
func freePorts(t *testing.T, count int) []string {
	t.Helper()
	var ports []string
	for range count {
		port, err := framework.Cluster.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, strconv.Itoa(port))
	}
	return ports
}

func (e *etcdCluster) file(secret, name string) string { return filepath.Join(e.dir, secret, name) }

// writeCertificates replaces the certificates that are due, and writes them as the kubelet does in
// the volumes of the pods.
func (e *etcdCluster) writeCertificates(t *testing.T) {
	t.Helper()
	if err := e.certificates.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"server", "client"} {
		secret, err := e.certificates.Client.CoreV1().Secrets(e.namespace).Get(t.Context(), e.certificates.Name+"-"+name,
			metav1.GetOptions{})
		if err == nil {
			err = os.MkdirAll(filepath.Join(e.dir, name), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		for entry, content := range secret.Data {
			framework.WriteFile(t, e.file(name, entry), content)
		}
	}
}

// start starts a member with the flags of the StatefulSet.
func (e *etcdCluster) start(t *testing.T, member int) {
	t.Helper()
	name := fmt.Sprintf("%s-%d", e.certificates.Name, member)
	replacements := []string{"/etcd-server", filepath.Join(e.dir, "server"), "/var/lib/etcd/data",
		filepath.Join(e.dir, name),
		"https://0.0.0.0:2379", strings.Replace(e.clients[member], "localhost", "127.0.0.1", 1),
		"https://0.0.0.0:2380", strings.Replace(e.peers[member], "localhost", "127.0.0.1", 1),
		"http://0.0.0.0:2381", e.metrics[member]}
	for i := range e.members {
		host := fmt.Sprintf("https://%s-%d.%s.website-system.svc:", e.certificates.Name, i, e.certificates.Name)
		replacements = append(replacements, host+"2379", e.clients[i], host+"2380", e.peers[i])
	}
	var args []string
	for _, arg := range e.args {
		// POD_NAME is replaced first, as it is a part of others.
		arg = strings.ReplaceAll(arg, "$(POD_NAME)", name)
		args = append(args, strings.NewReplacer(replacements...).Replace(arg))
	}
	log := &bytes.Buffer{}
	cmd := exec.CommandContext(t.Context(), framework.Cluster.EtcdPath(), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e.members[member] = cmd
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			t.Logf("the last lines of %s:\n%s", name, strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
}

// stop kills a member.
func (e *etcdCluster) stop(t *testing.T, member int) {
	t.Helper()
	if err := e.members[member].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = e.members[member].Wait()
}

func (e *etcdCluster) waitReady(t *testing.T, member int) {
	t.Helper()
	framework.WaitFor(t, fmt.Sprintf("member %d is ready", member), func(ctx context.Context) error {
		return getOK(ctx, http.DefaultClient, e.metrics[member]+"/readyz")
	})
}

// get sends a request to a member, with or without the certificate of website-apiserver.
func (e *etcdCluster) get(t *testing.T, url string, authenticated bool) error {
	t.Helper()
	config := e.tls(t)
	if authenticated {
		pair, err := tls.LoadX509KeyPair(e.file("client", "tls.crt"), e.file("client", "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	return getOK(t.Context(), &http.Client{Transport: transport, Timeout: 10 * time.Second}, url)
}

func getOK(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

// tls returns a configuration that trusts the CA of the members.
func (e *etcdCluster) tls(t *testing.T) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(e.file("client", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &tls.Config{RootCAs: roots}
}

// served returns the certificate that a member presents to new connections.
func (e *etcdCluster) served(t *testing.T, member int) []byte {
	t.Helper()
	// The client's handshake ends before the member requires a client certificate.
	connection, err := tls.Dial("tcp", strings.TrimPrefix(e.clients[member], "https://"), e.tls(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	return connection.ConnectionState().PeerCertificates[0].Raw
}

// mustWrite creates a Website through the server, and reads it.
func (e *etcdCluster) mustWrite(t *testing.T, server *framework.Server, name string) {
	t.Helper()
	websites := framework.NewClients(t, server.Config(t)).Websites.WebsiteV1beta1().Websites(e.namespace)
	framework.WaitFor(t, "Website "+name+" is created", func(ctx context.Context) error {
		_, err := websites.Create(ctx, framework.NewWebsite(e.namespace, name), metav1.CreateOptions{})
		// A request to a killed member may have succeeded without a response.
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		return err
	})
	framework.WaitFor(t, "Website "+name+" is read", func(ctx context.Context) error {
		_, err := websites.Get(ctx, name, metav1.GetOptions{})
		return err
	})
}
