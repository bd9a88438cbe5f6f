package e2e

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/test/framework"
)

// caKey is the key of the CA in the ConfigMap of a test.
const caKey = "ca.crt"

// overTLS changes the URL of a repository to https, which credentials require, and creates a ConfigMap in a
// namespace with the CA of its server, see newWebsite.
func (r *repository) overTLS(t *testing.T, namespace string) {
	t.Helper()
	user, password, err := framework.Cluster.GitCredentials()
	if err != nil {
		t.Fatal(err)
	}
	credentials := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(credentials, []byte(user+":"+password), 0o600); err != nil {
		t.Fatal(err)
	}
	over, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	server, err := gitserver.StartTLS(gitserver.Options{
		Address: net.JoinHostPort(over.Hostname(), "0"), Dir: filepath.Dir(filepath.Dir(r.path)),
		CredentialsFile: credentials,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	r.url = server.URL + over.Path
	r.ca = "git-ca"
	if _, err := framework.Admin(t).Kubernetes.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: r.ca}, Data: map[string]string{caKey: string(server.CA)},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
