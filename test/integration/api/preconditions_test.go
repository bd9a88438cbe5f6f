package api

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestPreconditions: a write with a UID or resource version changes that object or none.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	framework.WaitSettled(t, namespace, "kubia")
	current, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var dryRun []string
	update := func(tweak func(*v1beta1.Website)) error {
		changed := current.DeepCopy()
		changed.Labels = map[string]string{"touched": "yes"}
		tweak(changed)
		_, err := websites.Update(ctx, changed, metav1.UpdateOptions{DryRun: dryRun})
		return err
	}
	remove := func(preconditions metav1.Preconditions) error {
		return websites.Delete(ctx, "kubia", metav1.DeleteOptions{Preconditions: &preconditions, DryRun: dryRun})
	}
	alpha := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)
	old, err := alpha.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old.ResourceVersion, old.UID = "", "another"
	for _, dryRun = range [][]string{nil, {metav1.DryRunAll}} {
		_, updateOld := alpha.Update(ctx, old, metav1.UpdateOptions{DryRun: dryRun})
		stale := metav1.DeleteOptions{DryRun: dryRun, Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("1")}}
		for name, err := range map[string]error{
			"update of another UID":              update(func(w *v1beta1.Website) { w.UID = "another" }),
			"update of another UID in v1alpha1":  updateOld,
			"update of an outdated version":      update(func(w *v1beta1.Website) { w.ResourceVersion = "1" }),
			"deletion of another UID":            remove(metav1.Preconditions{UID: ptr.To(types.UID("another"))}),
			"deletion of an outdated version":    remove(metav1.Preconditions{ResourceVersion: ptr.To("1")}),
			"deletion of the UID at another one": remove(metav1.Preconditions{UID: &current.UID, ResourceVersion: ptr.To("1")}),
			"deletion in v1alpha1":               alpha.Delete(ctx, "kubia", stale),
			"deletion of all":                    websites.DeleteCollection(ctx, stale, metav1.ListOptions{}),
			"deletion for one that cannot be read": websites.Delete(ctx, "kubia", metav1.DeleteOptions{
				DryRun: dryRun, IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true),
			}),
		} {
			if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `websites.mycontroller.nevermosby.io "kubia"`) {
				t.Errorf("%s, dry run %v: %v, want Conflict, about websites", name, dryRun, err)
			}
			if err != nil && (strings.Contains(err.Error(), "Key:") || strings.Contains(err.Error(), "/kubia")) {
				t.Errorf("%s, dry run %v: the message has the key of etcd: %v", name, dryRun, err)
			}
		}
	}
	// Built-in types answer the same.
	if err := framework.Admin(t).Kubernetes.CoreV1().ConfigMaps(namespace).Delete(ctx, "kube-root-ca.crt",
		metav1.DeleteOptions{
			IgnoreStoreReadErrorWithClusterBreakingPotential: ptr.To(true),
		}); !apierrors.IsConflict(err) {
		t.Errorf("deletion of a ConfigMap as one that cannot be read: %v, want Conflict", err)
	}
	if again, err := websites.Get(ctx, "kubia", metav1.GetOptions{}); err != nil ||
		again.ResourceVersion != current.ResourceVersion {
		t.Fatalf("the Website is now %+v (%v), want it unchanged", again, err)
	}

	// Without a resource version, an update overwrites, as for built-in types.
	dryRun = nil
	if err := update(func(w *v1beta1.Website) { w.ResourceVersion = "" }); err != nil {
		t.Errorf("update without a resource version: %v", err)
	}
	latest, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil || latest.Labels["touched"] != "yes" {
		t.Fatalf("the Website is %+v (%v), want the label", latest, err)
	}
	if err := remove(metav1.Preconditions{UID: &latest.UID, ResourceVersion: &latest.ResourceVersion}); err != nil {
		t.Errorf("deletion with the current preconditions: %v", err)
	}
	if err := update(func(w *v1beta1.Website) { w.ResourceVersion = "" }); !apierrors.IsNotFound(err) &&
		!apierrors.IsConflict(err) {
		t.Errorf("update of a deleted Website: %v, want an error: an update never creates", err)
	}
}

// TestGeneratedNames creates twice from one manifest.
func TestGeneratedNames(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	generated := func(manifest string) string { return strings.Replace(manifest, `name: ""`, "generateName: kubia-", 1) }
	for _, input := range []string{betaManifest("", validSource), manifest("", validRepo, validDeployment)} {
		if err := checkOutput(t.Context(), "website.mycontroller.nevermosby.io/kubia-", generated(input),
			"create", "-n", namespace, "-f", "-"); err != nil {
			t.Error(err)
		}
	}
	// v1alpha1 requires the Deployment's name, which the second Website would share.
	if err := checkOutput(t.Context(), "website.mycontroller.nevermosby.io/kubia-",
		generated(betaManifest("", validSource)), "create", "-n", namespace, "-f", "-"); err != nil {
		t.Error(err)
	}
	if stderr := framework.KubectlRefused(t, generated(manifest("", validRepo, validDeployment)), "create", "-n",
		namespace, "-f", "-"); !strings.Contains(stderr, `spec.deploymentName: Duplicate value: "kubia-website"`) {
		t.Errorf("kubectl create printed %q, want that the name of the Deployment is taken", stderr)
	}
	generatedToo, given := 0, 0
	for _, w := range mustList(t, framework.Websites(t, namespace), metav1.ListOptions{}).Items {
		switch w.Spec.DeploymentName {
		case w.Name:
			generatedToo++
		case "kubia-website":
			// v1alpha1 has always required the Deployment's name.
			given++
		default:
			t.Errorf("Deployment of %s is called %s", w.Name, w.Spec.DeploymentName)
		}
	}
	if generatedToo != 2 || given != 1 {
		t.Errorf("%d Deployments are called as their Websites and %d kubia-website, want 2 and 1", generatedToo, given)
	}
	stderr := framework.KubectlRefused(t, strings.Replace(betaManifest("", validSource), `name: ""`,
		"generateName: Kubia-", 1), "create", "-n", namespace, "-f", "-")
	if !strings.Contains(stderr, "metadata.generateName: Invalid value") {
		t.Errorf("kubectl printed %q, want generateName refused", stderr)
	}
}
