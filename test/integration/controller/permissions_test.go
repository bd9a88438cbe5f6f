package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/leastprivilege"
)

// TestPermissionsOfLists makes the controller use the permissions that it needs with API servers
// without streaming lists.
func TestPermissionsOfLists(t *testing.T) {
	stopController(t)
	config, err := framework.Cluster.UserConfig(framework.ControllerUser, "system:serviceaccounts",
		"system:serviceaccounts:website-system")
	if err != nil {
		t.Fatal(err)
	}
	useListPermissions(t, framework.ControllerUser, framework.WriteKubeconfig(t, config), "website-system",
		framework.NewNamespace(t))
}

// useListPermissions runs a controller as a user, without streaming lists. Its keys are in the
// namespace of the installation.
func useListPermissions(t *testing.T, user, kubeconfig, installation, namespace string) {
	t.Helper()
	// Routes are listed once a Website has hosts.
	framework.InstallGatewayAPI(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "hosts", withHosts(namespace+".example.test")))
	kubeAudit, websiteAudit := framework.AuditLength(t, "kube-apiserver"), framework.AuditLength(t, "website-apiserver")
	controller := framework.StartController(t, app.Instruments{WrapTransport: framework.RejectStreamingLists},
		"--kubeconfig="+kubeconfig, "--watch-namespace="+namespace, "--leader-elect=false",
		"--leader-elect-resource-namespace="+installation, "--secure-port=0", "--commit-observation=None")
	framework.WaitFor(t, "the controller lists", func(context.Context) error {
		used := sets.New[string]()
		for _, event := range append(framework.AuditEvents(t, "kube-apiserver", kubeAudit),
			framework.AuditEvents(t, "website-apiserver", websiteAudit)...) {
			if event.User.Username == user && event.ObjectRef != nil && event.ObjectRef.Namespace == namespace {
				used.Insert(leastprivilege.RuleOf(event).String())
			}
		}
		rules := sets.New("list websites.mycontroller.nevermosby.io", "list configmaps", "list services",
			"list deployments.apps", "list replicasets.apps", "list poddisruptionbudgets.policy", "list pods",
			"list httproutes.gateway.networking.k8s.io", "list listenersets.gateway.networking.k8s.io",
			"list gateways.gateway.networking.k8s.io", "list ingresses.networking.k8s.io")
		if !used.IsSuperset(rules) {
			return fmt.Errorf("it has not made these requests: %v", rules.Difference(used).UnsortedList())
		}
		return nil
	})
	controller.Drain(t)
}

// TestBlockingOwnerDeletionTakesFinalizers creates a child that blocks the deletion of its Website,
// at a kube-apiserver with OwnerReferencesPermissionEnforcement: as a user with permission to
// create it only, and as one with the controller's permission for finalizers as well.
//
// It is not parallel: a starting kube-apiserver repairs the addresses of Services, and exits if one
// is created meanwhile.
func TestBlockingOwnerDeletionTakesFinalizers(t *testing.T) {
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	enforcing, url, err := framework.Cluster.StartKubeAPIServer(ctx, "kube-apiserver-owners",
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := enforcing.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	website := framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	create := rbacv1.PolicyRule{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}
	finalizers := rbacv1.PolicyRule{Verbs: []string{"update"}, APIGroups: []string{v1beta1.GroupName},
		Resources: []string{"websites/finalizers"}}
	for name, test := range map[string]struct {
		rules   []rbacv1.PolicyRule
		allowed bool
	}{
		"without": {[]rbacv1.PolicyRule{create}, false},
		"with":    {[]rbacv1.PolicyRule{create, finalizers}, true},
	} {
		t.Run(name, func(t *testing.T) {
			user := namespace + "-" + name
			framework.Allow(t, namespace, user, test.rules...)
			config, err := framework.Cluster.UserConfig(user)
			if err != nil {
				t.Fatal(err)
			}
			config.Host = url
			child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: name, OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(website, v1beta1.SchemeGroupVersion.WithKind("Website")),
				},
			}}
			configMaps := framework.NewClients(t, config).Kubernetes.CoreV1().ConfigMaps(namespace)
			framework.WaitFor(t, "admission has decided by the Role", func(ctx context.Context) error {
				_, err := configMaps.Create(ctx, child, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if !test.allowed && err != nil && strings.Contains(err.Error(), "cannot set blockOwnerDeletion") {
					return nil
				}
				if err == nil && !test.allowed {
					return fmt.Errorf("it was created")
				}
				return err
			})
		})
	}
}
