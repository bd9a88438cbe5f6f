package undecodable

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestUndecodableWebsite overwrites a stored Website with garbage, as a broken disk does. The
// errors, the log and the condition of its namespace name it; its children stay. Once an
// administrator has deleted it in spite of that, everything works again without a restart. No
// Website of the cluster is reconciled meanwhile.
func TestUndecodableWebsite(t *testing.T) {
	ctx, admin := t.Context(), framework.Admin(t)
	namespace, other := framework.NewNamespace(t), framework.NewNamespace(t)
	websites := admin.Websites.WebsiteV1beta1().Websites(namespace)
	for _, name := range []string{"good", "bad"} {
		framework.WaitAvailable(t, framework.MustCreate(t, framework.NewV1alpha1(namespace, name)), 1)
	}
	// The RoleBinding is created before the deletion of the namespace, which forbids it.
	framework.Bind(t, namespace, administrator(namespace), "ClusterRole", "admin")
	store := framework.ClusterStore(t)
	if _, err := store.Client(t).Put(ctx, store.Prefix+namespace+"/bad", "k8s\x00garbage"); err != nil {
		t.Fatal(err)
	}

	framework.WaitFor(t, "lists name the Website", func(ctx context.Context) error {
		_, err := websites.List(ctx, metav1.ListOptions{})
		return framework.StoreReadError(err, namespace, "bad")
	})
	_, err := websites.Get(ctx, "bad", metav1.GetOptions{})
	if err := framework.StoreReadError(err, namespace, "bad"); err != nil {
		t.Errorf("reading it: %v", err)
	}
	_, err = websites.Patch(ctx, "bad", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{})
	if err := framework.StoreReadError(err, namespace, "bad"); err != nil {
		t.Errorf("changing it: %v", err)
	}
	if err := framework.StoreReadError(websites.Delete(ctx, "bad", metav1.DeleteOptions{}), namespace, "bad"); err != nil {
		t.Errorf("deleting it: %v", err)
	}
	log, err := os.ReadFile(framework.Cluster.Process("website-apiserver").LogFile())
	if want := fmt.Sprintf("Website %s/bad cannot be read from the store", namespace); err != nil ||
		!strings.Contains(string(log), want) {
		t.Errorf("the log does not contain %q (%v)", want, err)
	}
	if _, err := websites.Get(ctx, "good", metav1.GetOptions{}); err != nil {
		t.Errorf("reading another Website of the namespace: %v", err)
	}
	if _, err := framework.Websites(t, other).List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("listing another namespace: %v", err)
	}
	framework.MustCreate(t, framework.NewV1alpha1(other, "meanwhile"))
	if _, err := admin.Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "bad-website",
		metav1.GetOptions{}); err != nil {
		t.Errorf("reading the Deployment of the Website: %v", err)
	}

	if err := admin.Kubernetes.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the condition of the namespace names the Website", func(ctx context.Context) error {
		ns, err := admin.Kubernetes.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range ns.Status.Conditions {
			if condition.Type == corev1.NamespaceDeletionContentFailure && condition.Status == corev1.ConditionTrue &&
				strings.Contains(condition.Message, namespace+"/bad") {
				return nil
			}
		}
		return fmt.Errorf("conditions = %+v", ns.Status.Conditions)
	})

	deleteUnsafely(t, namespace)
	framework.WaitFor(t, "the namespace is gone", func(ctx context.Context) error {
		if _, err := admin.Kubernetes.CoreV1().Namespaces().Get(ctx, namespace,
			metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace: %v, want NotFound", err)
		}
		return nil
	})
	// The watch cache and the controller follow without a restart.
	framework.WaitSettled(t, other, "meanwhile")
	framework.WaitAvailable(t, framework.MustCreate(t, framework.NewV1alpha1(other, "after")), 1)
	list, err := framework.Websites(t, other).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil || len(list.Items) != 2 {
		t.Errorf("listing from the cache: %d Websites, %v, want 2", len(list.Items), err)
	}
}

// administrator returns the user with the role admin in a namespace.
func administrator(namespace string) string { return "admin-of-" + namespace }

// deleteUnsafely deletes the Website bad by the documented command. It requires a permission that
// administrators of the namespace lack, and an unreadable Website.
func deleteUnsafely(t *testing.T, namespace string) {
	t.Helper()
	ctx, options := t.Context(), metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true)}
	config, err := framework.Cluster.UserConfig(administrator(namespace))
	if err != nil {
		t.Fatal(err)
	}
	err = framework.NewClients(t, config).Websites.WebsiteV1beta1().Websites(namespace).Delete(ctx, "bad", options)
	if !apierrors.IsForbidden(err) {
		t.Errorf("deletion by an administrator of the namespace: %v, want Forbidden", err)
	}
	websites := framework.Websites(t, namespace)
	if err := websites.Delete(ctx, "good", options); !apierrors.IsConflict(err) {
		t.Errorf("unsafe deletion of a Website that can be read: %v, want Conflict", err)
	}
	dryRun := options
	dryRun.DryRun = []string{metav1.DryRunAll}
	if err := websites.Delete(ctx, "bad", dryRun); err != nil {
		t.Errorf("dry run: %v", err)
	}
	framework.Kubectl(
		t, "delete", "--raw", fmt.Sprintf(
			"/apis/%s/namespaces/%s/websites/bad?ignoreStoreReadErrorWithClusterBreakingPotential=true",
			v1beta1.SchemeGroupVersion, namespace,
		),
	)
}
