package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// reader is the user with access to the site.
const reader = "reader"

func withUsers(secret string) func(*v1beta1.Website) {
	return func(w *v1beta1.Website) {
		w.Spec.Access.BasicAuth = &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: secret}}
	}
}

// getAs requests a page of the site with a password; none if that is empty.
func (s *site) getAs(ctx context.Context, url, password, path string) answer {
	if password != "" {
		url = strings.Replace(url, "http://", "http://"+reader+":"+password+"@", 1)
	}
	return get(ctx, visitor, url+path)
}

// waitAdmits waits until the site admits only this password, or no visitor if it is empty.
// All others are rejected meanwhile.
func (s *site) waitAdmits(t *testing.T, admitted string, others ...string) {
	t.Helper()
	url := s.url(t)
	framework.WaitFor(t, "the site admits the users of the Secret", func(ctx context.Context) error {
		if a := s.getAs(ctx, url, "", "/"); a.status != http.StatusUnauthorized {
			t.Errorf("without a password: %v, want 401", a)
		}
		for _, password := range others {
			if a := s.getAs(ctx, url, password, "/"); a.status != http.StatusUnauthorized {
				return fmt.Errorf("with a former password: %v", a)
			}
		}
		if admitted == "" {
			return nil
		}
		if a := s.getAs(ctx, url, admitted, "/"); a.status != http.StatusOK {
			return fmt.Errorf("with the password: %v", a)
		}
		return nil
	})
}

// TestAccess protects a site with a Secret that is created, rotated and deleted while its pod
// runs. The pod stays the same, and without the Secret all requests are rejected.
func TestAccess(t *testing.T) {
	t.Parallel()
	const first, second, third = "first-password-of-a-test", "second-password-of-a-test", "third-password-of-a-test"
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	commit := r.release(t, "release-1")
	s := applySite(t, newWebsite(namespace, r, withUsers("readers")), r)
	// The pod starts without the Secret.
	s.waitLive(t, commit)
	s.waitAdmits(t, "", first)
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonAccessSecretInvalid)
	pod := s.pod(t)

	s.kubectl(t, "create", "secret", "generic", "readers", "--type=kubernetes.io/basic-auth",
		"--from-literal=username="+reader, "--from-literal=password="+first)
	s.waitAdmits(t, first, second)
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	url := s.url(t)
	for _, path := range []string{"/", "/index.html", "/missing", "/.well-known/", "/.git/config", "//", "/%2e%2e/"} {
		if a := s.getAs(t.Context(), url, "", path); a.status != http.StatusUnauthorized &&
			a.status != http.StatusBadRequest {
			t.Errorf("GET %s without a password: %v", path, a)
		}
	}
	if a := s.getAs(t.Context(), url, "", "/"); a.header.Get(commitHeader) != commit ||
		a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a rejection has the headers %v", a.header)
	}
	if a := s.getAs(t.Context(), url, first, "/"); !strings.HasPrefix(a.header.Get("Cache-Control"), "private") {
		t.Errorf("a page has the headers %v", a.header)
	}

	s.kubectl(t, "patch", "secret", "readers", "-p", fmt.Sprintf(`{"stringData":{"password":%q}}`, second))
	s.waitAdmits(t, second, first)
	// This is the other format of the Secret, with the unsalted hash of its password.
	s.kubectl(t, "patch", "secret", "readers", "-p",
		fmt.Sprintf(`{"stringData":{"htpasswd":%q}}`, reader+":{SHA}h+mKXFC3cnIdBUPwz5xrDqadn1k="))
	s.waitAdmits(t, third, first, second)
	s.kubectl(t, "patch", "secret", "readers", "-p", `{"stringData":{"htpasswd":"reader:{PLAIN}`+first+`"}}`)
	s.waitAdmits(t, "", first, second, third)
	s.waitCondition(t, v1beta1.WebsiteStalled, metav1.ConditionTrue, v1beta1.WebsiteReasonAccessSecretInvalid)
	s.kubectl(t, "patch", "secret", "readers", "--type=merge", "-p", `{"data":{"htpasswd":null}}`)
	s.waitAdmits(t, second, first, third)

	s.kubectl(t, "delete", "secret", "readers")
	s.waitAdmits(t, "", first, second, third)
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionFalse, v1beta1.WebsiteReasonAccessSecretInvalid)
	s.waitCondition(t, v1beta1.WebsiteAvailable, metav1.ConditionTrue, v1beta1.WebsiteReasonMinimumReplicasAvailable)
	if now := s.pod(t); now.UID != pod.UID || restarts(now) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want pod %s as it was", now.Name, restarts(now), pod.Name)
	}
	keepsPasswords(t, s, first, second, third, reader+":{SSHA}", reader+":{PLAIN}")
}
