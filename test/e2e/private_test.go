package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestPrivateRepository publishes what takes a user and a password to fetch.
func TestPrivateRepository(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	user, password, err := cluster.GitCredentials()
	if err != nil {
		t.Fatal(err)
	}
	r := newRepository(t, "private/", namespace, "main")
	commit := r.release(t, "release-1")
	const wrong = "wrong-password-of-a-test"
	for name, password := range map[string]string{"right": password, "wrong": wrong} {
		kubectl(t, "create", "secret", "generic", name, "--namespace="+namespace, "--type=kubernetes.io/basic-auth",
			"--from-literal=username="+user, "--from-literal=password="+password)
	}
	s := applySite(t, newWebsite(namespace, r, withSecret("wrong")), r)
	waitFor(t, "git-sync has been refused", syncFailed(t, s))
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonAuthenticationFailed)
	if a := get(t.Context(), visitor, s.url(t)); a.err == nil {
		t.Errorf("the NodePort answers %v, want nobody behind it", a)
	}
	s.patch(t, `{"spec":{"source":{"secretRef":{"name":"right"}}}}`)
	s.waitLive(t, commit)
	s.waitReported(t, commit)
	if a := get(t.Context(), visitor, r.url+"/info/refs?service=git-upload-pack"); a.status != 401 {
		t.Errorf("without a password the repository answers %v: it is not private", a)
	}

	for _, what := range [][]string{
		{"get", "websites,deployments,replicasets,pods,configmaps,events", "--output=yaml"},
		{"logs", "--selector=app=website-nginx", "--all-containers", "--tail=-1"},
	} {
		said := s.kubectl(t, what...)
		if strings.Contains(said, password) || strings.Contains(said, wrong) {
			t.Errorf("kubectl %v shows the password", what)
		}
	}
}
