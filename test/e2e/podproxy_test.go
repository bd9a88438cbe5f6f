package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestPodProxy reads the commit through the pod proxy, as a controller without a
// network to the pods does: as the controller's ServiceAccount, which needs the
// documented rule for it.
func TestPodProxy(t *testing.T) {
	t.Parallel()
	s := exampleSite()
	reached := s.pod(t)
	pod := cached.OfPod(&reached)
	config, err := framework.Cluster.UserConfig("system:serviceaccount:website-system:website-controller",
		"system:serviceaccounts", "system:serviceaccounts:website-system")
	if err != nil {
		t.Fatal(err)
	}
	pods, err := podprobe.NewClient(podprobe.PodProxy, config)
	if err != nil {
		t.Fatal(err)
	}
	code, body, err := pods.Get(t.Context(), pod, podprobe.Request{Port: adminPort, Path: "/commit"})
	if err != nil || code != http.StatusForbidden {
		t.Errorf("/commit through the API server without permission: %d %q, %v, want 403", code, body, err)
	}

	const name = "pods-proxy"
	object := metav1.ObjectMeta{Namespace: s.namespace, Name: name}
	rbac := framework.Admin(t).Kubernetes.RbacV1()
	t.Cleanup(func() {
		if err := errors.Join(
			rbac.RoleBindings(s.namespace).Delete(context.Background(), name, metav1.DeleteOptions{}),
			rbac.Roles(s.namespace).Delete(context.Background(), name, metav1.DeleteOptions{}),
		); err != nil {
			t.Error(err)
		}
	})
	if _, err := rbac.Roles(s.namespace).Create(t.Context(),
		&rbacv1.Role{ObjectMeta: object, Rules: documentedRules(t, "pods/proxy")}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := rbac.RoleBindings(s.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: object,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "website-system",
			Name: "website-controller"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	commit := s.get(t).Status.Commit
	// These are all of the controller's requests.
	for path, want := range map[string]string{"/status": fmt.Sprintf("%q", commit), "/commit": commit + "\n"} {
		framework.WaitFor(t, path+" is answered through the API server", func(ctx context.Context) error {
			code, body, err := pods.Get(ctx, pod, podprobe.Request{Port: adminPort, Path: path})
			if err != nil || code != http.StatusOK || !strings.Contains(string(body), want) {
				return fmt.Errorf("%d %q, %w, want %q", code, body, err, want)
			}
			return nil
		})
	}
}

// documentedRules returns the rules for a resource in the documentation of
// the controller.
func documentedRules(t *testing.T, resource string) []rbacv1.PolicyRule {
	t.Helper()
	page, err := os.ReadFile(framework.Path("docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(block, "["+resource+"]") {
			continue
		}
		var rules []rbacv1.PolicyRule
		if err := yaml.UnmarshalStrict([]byte(block), &rules); err != nil {
			t.Fatalf("the rule for %s in docs/troubleshooting.md: %v", resource, err)
		}
		return rules
	}
	t.Fatalf("docs/troubleshooting.md has no rule for %s", resource)
	return nil
}
