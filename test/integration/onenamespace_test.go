package integration

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubesites/website-apiserver/test/leastprivilege"
)

// What docs/operations-controller.md tells whoever has a controller for one
// namespace, which the manifest and the flags call documentedNamespace.
var (
	namespacedRoles     = filepath.Join("..", "..", "artifacts", "rbac", "controller-one-namespace.yaml")
	namespacedManual    = filepath.Join("..", "..", "docs", "operations-controller.md")
	documentedNamespace = "team-a"
)

// TestOneNamespace runs a controller with the documented flags, as a user who has
// the documented rights and no others, while the cluster's own is stopped: it does
// all of its work in its namespace, and nothing anywhere else.
func TestOneNamespace(t *testing.T) {
	ctx, namespace, elsewhere, client := t.Context(), newNamespace(t), newNamespace(t), admin(t)
	user := installNamespacedRoles(t, namespace)

	whole := cluster.Process("website-controller")
	if err := whole.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if whole.Running() {
			return
		}
		if err := errors.Join(whole.Start(context.Background()), whole.WaitReady(context.Background())); err != nil {
			t.Error(err)
		}
	})
	// The one that is to be left alone is the first to be there.
	untouched := mustCreate(t, newWebsite(elsewhere, "kubia"))

	config, err := cluster.UserConfig(user, "system:serviceaccounts", "system:serviceaccounts:website-system")
	if err != nil {
		t.Fatal(err)
	}
	file := kubeconfig(t, config)
	namespaced, url, err := cluster.StartController(ctx, "website-controller-one-namespace", append(documentedFlags(t, namespace),
		"--kubeconfig="+file, "--authentication-kubeconfig="+file, "--authorization-kubeconfig="+file)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaced.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	// A life that takes every right there is.
	site := mustCreate(t, newWebsite(namespace, "kubia", withReplicas(2)))
	waitSettled(t, namespace, "kubia")
	waitEvent(t, site, "Created")
	kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=1")
	waitSettled(t, namespace, "kubia")
	before, err := client.kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, "delete", "deployment/kubia-website", "-n", namespace)
	waitFor(t, "the deleted Deployment is back", func(ctx context.Context) error {
		now, err := client.kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
		if err == nil && now.UID == before.UID {
			err = errors.New("it is the one that was deleted")
		}
		return err
	})
	waitSettled(t, namespace, "kubia")
	waitAnswer(t, url+"/metrics", http.StatusOK)

	if now := mustGet(t, untouched); now.ResourceVersion != untouched.ResourceVersion {
		t.Errorf("the Website elsewhere was written: %+v", now)
	}
	deployments, err := client.kubernetes.AppsV1().Deployments(elsewhere).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 0 {
		t.Errorf("the Website elsewhere has Deployments: %+v", deployments.Items)
	}
	if err := namespaced.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	checkNamespacedRequests(t, user, namespace)

	// There was something to do elsewhere, for whoever may.
	if err := errors.Join(whole.Start(ctx), whole.WaitReady(ctx)); err != nil {
		t.Fatal(err)
	}
	waitAvailable(t, untouched, 1)
}

// installNamespacedRoles applies the manifest for a namespace as a user would, and
// returns the user who is given the rights.
func installNamespacedRoles(t *testing.T, namespace string) (user string) {
	t.Helper()
	data, err := os.ReadFile(namespacedRoles)
	if err != nil {
		t.Fatal(err)
	}
	manifest := strings.ReplaceAll(string(data), documentedNamespace, namespace)
	if _, stderr, err := cluster.KubectlWith(t.Context(), stdin(manifest), "apply", "-f", "-"); err != nil {
		t.Fatalf("applying %s: %v: %s", namespacedRoles, err, stderr)
	}
	t.Cleanup(func() {
		if _, stderr, err := cluster.KubectlWith(context.Background(), stdin(manifest), "delete", "--ignore-not-found", "-f", "-"); err != nil {
			t.Errorf("deleting what %s made: %v: %s", namespacedRoles, err, stderr)
		}
	})
	return controllerUser + "-" + namespace
}

// documentedFlags are those that the manual tells to use.
func documentedFlags(t *testing.T, namespace string) []string {
	t.Helper()
	data, err := os.ReadFile(namespacedManual)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "--watch-namespace=") {
			return strings.Fields(strings.ReplaceAll(line, documentedNamespace, namespace))
		}
	}
	t.Fatalf("%s names no flags for one namespace", namespacedManual)
	return nil
}

// checkNamespacedRequests compares what the controller of a namespace did with
// what it may do, as checkPrivileges does for that of the whole cluster.
func checkNamespacedRequests(t *testing.T, user, namespace string) {
	t.Helper()
	allowed, err := leastprivilege.Rules(namespacedRoles)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := leastprivilege.Rules(controllerRoles)
	if err != nil {
		t.Fatal(err)
	}
	if !allowed.Equal(whole) {
		t.Errorf("%s and %s differ in %v", namespacedRoles, controllerRoles, allowed.SymmetricDifference(whole).UnsortedList())
	}
	used, forbidden, err := requests(user)
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range forbidden {
		t.Errorf("%s is not allowed to: %s", user, request)
	}
	for rule := range allowed.Difference(used) {
		if _, explained := seenElsewhere[rule.String()]; !explained {
			t.Errorf("%s did not use the right to %s", user, rule)
		}
	}

	// What the secure port asks is about no namespace of Websites.
	delegated := sets.New("tokenreviews", "subjectaccessreviews")
	for _, component := range []string{"kube-apiserver", "website-apiserver"} {
		files, err := auditFiles(component)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			err := eachAuditEvent(file, func(event auditv1.Event) {
				ref := event.ObjectRef
				if event.User.Username != user || ref == nil || ref.Namespace == namespace || delegated.Has(ref.Resource) ||
					ref.Namespace == metav1.NamespaceSystem && ref.Resource == "configmaps" && ref.Name == "extension-apiserver-authentication" {
					return
				}
				t.Errorf("%s asked %s to %s %s in namespace %q", user, component, event.Verb, ref.Resource, ref.Namespace)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
