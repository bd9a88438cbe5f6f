package e2e

import (
	"net"
	"net/url"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestRepositoryOverSSH publishes a repository that requires a key, from a host
// in the Secret's known hosts. The key is mounted as in the pod: ssh rejects a
// key that others may read.
func TestRepositoryOverSSH(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	r := newRepository(t, "private/", namespace, "main")
	commit := r.release(t, "release-1")
	over, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	var servers [2]*gitserver.SSH
	for i := range servers {
		dir := filepath.Dir(filepath.Dir(r.path))
		if servers[i], err = gitserver.StartSSH(dir, net.JoinHostPort(over.Hostname(), "0")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Close)
	}
	r.url = servers[0].URL + over.Path
	for name, knownHosts := range map[string][]byte{"right": servers[0].KnownHosts, "wrong": servers[1].KnownHosts} {
		apply(t, map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/ssh-auth",
			"metadata": map[string]string{"name": name, "namespace": namespace},
			"data":     map[string][]byte{"ssh-privatekey": servers[0].PrivateKey, "known_hosts": knownHosts},
		})
	}
	s := applySite(t, newWebsite(namespace, r, withSecret("wrong")), r)
	framework.WaitFor(t, "the host has been refused", syncFailed(t, s))
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonHostKeyMismatch)
	s.patch(t, `{"spec":{"source":{"git":{"secretRef":{"name":"right"}}}}}`)
	s.waitLive(t, commit)
	s.waitReported(t, commit)
	s.syncLive(t, r.release(t, "release-2"))
}
