package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/leastprivilege"
)

// docs/install.md documents this for a controller of one namespace, which the
// manifest and the flags call documentedNamespace.
var (
	namespacedRoles     = framework.Path("artifacts", "rbac", "controller-one-namespace.yaml")
	namespacedManual    = framework.Path("docs", "install.md")
	documentedNamespace = "team-a"
)

// TestOneNamespace runs a controller with the documented flags, as a user with the documented
// permissions and no others, while the cluster's own is stopped: it does all of its work in its
// namespace, and nothing in other namespaces.
func TestOneNamespace(t *testing.T) {
	ctx, namespace, elsewhere, client := t.Context(), framework.NewNamespace(t), framework.NewNamespace(t),
		framework.Admin(t)
	user := installNamespacedRoles(t, namespace)

	whole := stopController(t)
	// The Website in the other namespace is created first.
	untouched := framework.MustCreate(t, framework.NewV1alpha1(elsewhere, "kubia"))

	config, err := framework.Cluster.UserConfig(user, "system:serviceaccounts", "system:serviceaccounts:website-system")
	if err != nil {
		t.Fatal(err)
	}
	file := framework.WriteKubeconfig(t, config)
	useListPermissions(t, user, file, namespace, namespace)
	namespaced, url, err := framework.Cluster.StartController(ctx, "website-controller-one-namespace",
		append(documentedFlags(t, namespace),
			"--kubeconfig="+file, "--authentication-kubeconfig="+file, "--authorization-kubeconfig="+file)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaced.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	// The life of this Website uses every permission.
	site := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(2)))
	framework.WaitSettled(t, namespace, "kubia")
	waitEvent(t, site, "Created")
	for _, replicas := range []string{"1", "2"} {
		framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas="+replicas)
		framework.WaitSettled(t, namespace, "kubia")
	}
	framework.Kubectl(t, "patch", "website/kubia", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"source":{"path":"public"}}}`)
	framework.WaitSettled(t, namespace, "kubia")
	// A child that is not in the cache is read before it is created, unless its Website is new.
	for _, child := range []string{"service/kubia-website-npsvc", "deployment/kubia-website"} {
		deleteAndWaitRecreated(t, namespace, child)
		framework.WaitSettled(t, namespace, "kubia")
	}
	framework.WaitFor(t, "the configuration that went with the Deployment is deleted", func(ctx context.Context) error {
		configMaps, err := framework.NginxConfigMaps(ctx, client.Kubernetes, namespace, "kubia")
		if err == nil && len(configMaps) != 1 {
			err = fmt.Errorf("there are %q", configMaps)
		}
		return err
	})
	useRoutePermissions(t, namespace, "kubia")
	framework.WaitAnswer(t, url+"/metrics", http.StatusOK)

	if now := framework.MustGet(t, untouched); now.ResourceVersion != untouched.ResourceVersion {
		t.Errorf("the Website elsewhere was written: %+v", now)
	}
	deployments, err := client.Kubernetes.AppsV1().Deployments(elsewhere).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(deployments.Items) != 0 {
		t.Errorf("the Website elsewhere has Deployments: %+v", deployments.Items)
	}
	if err := namespaced.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	// Unreadable keys are replaced.
	secrets := client.Kubernetes.CoreV1().Secrets(namespace)
	if _, err := secrets.Patch(ctx, "website-controller-keys", types.MergePatchType, []byte(`{"data":null}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(namespaced.Start(ctx), namespaced.WaitReady(ctx)); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "there are keys again", func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, "website-controller-keys", metav1.GetOptions{})
		if err == nil && len(secret.Data) == 0 {
			err = errors.New("the Secret is empty")
		}
		return err
	})
	if err := namespaced.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	checkNamespacedRequests(t, user, namespace)

	// The controller of the whole cluster reconciles the other Website.
	if err := errors.Join(whole.Start(ctx), whole.WaitReady(ctx)); err != nil {
		t.Fatal(err)
	}
	framework.WaitAvailable(t, untouched, 1)
}

// deleteAndWaitRecreated deletes a child, in kubectl's notation, and waits until it is
// created again.
func deleteAndWaitRecreated(t *testing.T, namespace, child string) {
	t.Helper()
	uid := func(ctx context.Context) (string, error) {
		out, stderr, err := framework.Cluster.Kubectl(ctx, "get", child, "-n", namespace, "--output=jsonpath={.metadata.uid}")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, stderr)
		}
		return out, err
	}
	before, err := uid(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	framework.Kubectl(t, "delete", child, "-n", namespace)
	framework.WaitFor(t, "there is another "+child, func(ctx context.Context) error {
		now, err := uid(ctx)
		if err == nil && now == before {
			err = errors.New("it is the one that was deleted")
		}
		return err
	})
}

// useRoutePermissions makes the controller write and remove every kind of routes for a Website.
func useRoutePermissions(t *testing.T, namespace, website string) {
	t.Helper()
	framework.InstallGatewayAPI(t)
	framework.NewGateway(t, namespace, "edge", 80, 443)
	for _, step := range []struct {
		spec                    string
		sets, routes, ingresses int
	}{
		{spec: `{"hosts":[{"name":"shop.example.test"}],"routing":{"parentRefs":[{"name":"edge"}]},"tls":{"mode":"Secret",` +
			`"secretRef":{"name":"certificate"}}}`, sets: 1, routes: 2},
		{spec: `{"hosts":null,"routing":null,"tls":null}`},
		{spec: `{"hosts":[{"name":"shop.example.test"}],"routing":{"ingressClassName":"none"}}`, ingresses: 1},
		{spec: `{"hosts":null,"routing":null}`},
	} {
		framework.Kubectl(t, "patch", "websites.v1beta1."+v1beta1.GroupName, website, "-n", namespace, "--type=merge", "-p",
			`{"spec":`+step.spec+`}`)
		framework.WaitFor(t, "the routes of "+step.spec, func(ctx context.Context) error {
			return checkRoutes(ctx, t, namespace, website, step.sets, step.routes, step.ingresses)
		})
	}
}

// installNamespacedRoles applies the manifest for a namespace as an administrator would, and
// returns the user with the permissions.
func installNamespacedRoles(t *testing.T, namespace string) (user string) {
	t.Helper()
	data, err := os.ReadFile(namespacedRoles)
	if err != nil {
		t.Fatal(err)
	}
	manifest := strings.ReplaceAll(string(data), documentedNamespace, namespace)
	if _, stderr, err := framework.Cluster.KubectlWith(t.Context(), framework.Stdin(manifest), "apply", "-f",
		"-"); err != nil {
		t.Fatalf("applying %s: %v: %s", namespacedRoles, err, stderr)
	}
	t.Cleanup(func() {
		if _, stderr, err := framework.Cluster.KubectlWith(context.Background(), framework.Stdin(manifest), "delete",
			"--ignore-not-found", "-f", "-"); err != nil {
			t.Errorf("deleting the objects of %s: %v: %s", namespacedRoles, err, stderr)
		}
	})
	return framework.ControllerUser + "-" + namespace
}

// documentedFlags returns the flags in the documentation.
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

// checkNamespacedRequests compares the requests of the controller of a namespace with its
// permissions, as checkPermissions does for the controller of the whole cluster.
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
		t.Errorf("%s and %s differ in %v", namespacedRoles, controllerRoles,
			allowed.SymmetricDifference(whole).UnsortedList())
	}
	used, forbidden, err := leastprivilege.Requests(user, auditLogs()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range forbidden {
		t.Errorf("%s is not allowed to: %s", user, request)
	}
	for rule := range allowed.Difference(used) {
		// Previews require pods that report branches: TestPreviews uses these permissions.
		isPreview := rule.String() == "patch websites."+v1beta1.GroupName ||
			rule.String() == "delete websites."+v1beta1.GroupName
		if _, exempt := withoutRequest[rule.String()]; !exempt && !isPreview {
			t.Errorf("%s is allowed to %s and did not", user, rule)
		}
	}

	// The secure port's requests for authentication and authorization are not namespaced.
	delegated := sets.New("tokenreviews", "subjectaccessreviews")
	for _, component := range []string{"kube-apiserver", "website-apiserver"} {
		err := leastprivilege.EachRequest(user, framework.Cluster.AuditLog(component), func(event auditv1.Event) {
			ref := event.ObjectRef
			if ref.Namespace == namespace || delegated.Has(ref.Resource) ||
				ref.Namespace == metav1.NamespaceSystem && ref.Resource == "configmaps" &&
					ref.Name == "extension-apiserver-authentication" {
				return
			}
			t.Errorf("%s asked %s to %s %s in namespace %q", user, component, event.Verb, ref.Resource, ref.Namespace)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
