package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestPrivateRepository publishes a repository that requires a user and a password.
func TestPrivateRepository(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	user, password, err := framework.Cluster.GitCredentials()
	if err != nil {
		t.Fatal(err)
	}
	r := newRepository(t, "private/", namespace, "main")
	plain := r.url
	r.overTLS(t, namespace)
	commit := r.release(t, "release-1")
	const wrong = "wrong-password-of-a-test"
	for name, password := range map[string]string{"right": password, "wrong": wrong} {
		framework.Kubectl(t, "create", "secret", "generic", name, "--namespace="+namespace, "--type=kubernetes.io/basic-auth",
			"--from-literal=username="+user, "--from-literal=password="+password)
	}
	s := applySite(t, newWebsite(namespace, r, withSecret("wrong")), r)
	framework.WaitFor(t, "the password has been refused", syncFailed(t, s))
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonAuthenticationFailed)
	if a := get(t.Context(), visitor, s.url(t)); a.err == nil {
		t.Errorf("the NodePort answers %v, want no answer", a)
	}
	s.patch(t, `{"spec":{"source":{"git":{"secretRef":{"name":"right"}}}}}`)
	s.waitLive(t, commit)
	s.waitReported(t, commit)
	if a := get(t.Context(), visitor, plain+"/info/refs?service=git-upload-pack"); a.status != 401 {
		t.Errorf("without a password the repository answers %v: it is not private", a)
	}

	keepsPasswords(t, s, password, wrong)
}

// TestRotatedPassword changes the Secret of a served site, as after an expired password:
// the new one is used without a new pod, and so is a new user name.
func TestRotatedPassword(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	user, password, err := framework.Cluster.GitCredentials()
	if err != nil {
		t.Fatal(err)
	}
	const expired = "expired-password-of-a-test"
	r := newRepository(t, "private/", namespace, "main")
	r.overTLS(t, namespace)
	first := r.release(t, "release-1")
	framework.Kubectl(t, "create", "secret", "generic", "credentials", "--namespace="+namespace,
		"--type=kubernetes.io/basic-auth",
		"--from-literal=username="+user, "--from-literal=password="+password)
	s := applySite(t, newWebsite(namespace, r, withSecret("credentials")), r)
	rotate := func(key, value string) {
		t.Helper()
		s.kubectl(t, "patch", "secret", "credentials", "-p", fmt.Sprintf(`{"stringData":{%q:%q}}`, key, value))
	}
	s.waitLive(t, first)
	s.waitReported(t, first)
	visitors, pod := startTraffic(t, s), s.pod(t)

	rotate("password", expired)
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionFalse, v1beta1.WebsiteReasonAuthenticationFailed)
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	second := r.release(t, "release-2")
	rotate("password", password)
	s.waitLive(t, second)
	s.waitReported(t, second)
	if now := s.pod(t); now.UID != pod.UID || restarts(now) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want pod %s as it was", now.Name, restarts(now), pod.Name)
	}

	rotate("username", "nobody")
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionFalse, v1beta1.WebsiteReasonAuthenticationFailed)
	third := r.release(t, "release-3")
	rotate("username", user)
	s.waitLive(t, third)
	s.waitReported(t, third)
	if now := s.pod(t); now.UID != pod.UID || restarts(now) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want pod %s as it was", now.Name, restarts(now), pod.Name)
	}
	visitors.finish(t)
	keepsPasswords(t, s, password, expired)
}

// keepsPasswords fails the test if any object other than Secrets contains a password.
func keepsPasswords(t *testing.T, s *site, passwords ...string) {
	t.Helper()
	for _, what := range [][]string{
		{"get", "websites,deployments,replicasets,pods,configmaps,events", "--output=yaml"},
		{"logs", "--selector=app=website-nginx", "--all-containers", "--tail=-1"},
	} {
		// A pod of the former spec may go between the list and its log.
		said := repeatAt(t, metav1.StatusReasonNotFound, "", append(what, "--namespace="+s.namespace)...)
		if slices.ContainsFunc(passwords, func(password string) bool { return strings.Contains(said, password) }) {
			t.Errorf("kubectl %v shows a password", what)
		}
	}
}
