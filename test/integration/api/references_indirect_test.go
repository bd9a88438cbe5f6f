package api

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestSecretReferencesAreMigrated migrates the storage as a user without permission to get Secrets.
func TestSecretReferencesAreMigrated(t *testing.T) {
	t.Parallel()
	s, namespace := framework.NewServer(t), framework.NewNamespace(t)
	framework.StoreAsV1alpha1(t, s,
		[]*v1alpha1.Website{framework.NewV1alpha1(namespace, "kubia", func(w *v1alpha1.Website) {
			w.UID, w.CreationTimestamp = "00000000-0000-4000-8000-000000000000", metav1.Now().Rfc3339Copy()
			w.Annotations = map[string]string{website.AnnotationCarriedFields: carriedSecret}
		})})
	migrator := namespace + "-migrator"
	framework.BindCluster(t, migrator, "website-storage-migrator")
	config, err := framework.Cluster.UserConfig(migrator)
	if err != nil {
		t.Fatal(err)
	}
	config.Host = s.URL
	migrate := exec.CommandContext(t.Context(), framework.Cluster.Process("website-apiserver").Args()[0],
		"migrate-storage", "--kubeconfig="+framework.WriteKubeconfig(t, config))
	if output, err := migrate.CombinedOutput(); err != nil ||
		!strings.Contains(string(output), "1 Websites: 1 rewritten") {
		t.Errorf("migrating the storage: %v\n%s", err, output)
	}
	w, err := framework.NewClients(t, s.Config(t)).Websites.WebsiteV1beta1().Websites(namespace).Get(t.Context(), "kubia",
		metav1.GetOptions{})
	if err != nil || w.Spec.Source.Git.SecretRef == nil || w.Spec.Source.Git.SecretRef.Name != "key" {
		t.Errorf("after the migration: %+v (%v), want it to refer to the Secret", w.Spec.Source, err)
	}
}

// TestSecretReferencesOfPolicies: fields that admission sets on a Website are authorized as if the
// user had set them.
func TestSecretReferencesOfPolicies(t *testing.T) {
	t.Parallel()
	ctx, owners := t.Context(), newSecretOwners(t)
	namespace := owners.namespace
	selector, rule := framework.RuleFor(namespace, admissionregistrationv1.Create, admissionregistrationv1.Update)
	policy := newMutatingPolicy(t, rule, `Object{spec: Object.spec{source: Object.spec.source{git: `+
		`Object.spec.source.git{secretRef: Object.spec.source.git.secretRef{name: "key"}}}}}`)
	poor := framework.NewClients(t, owners.poor).Websites.WebsiteV1beta1().Websites(namespace)
	if _, err := poor.Create(ctx, framework.NewWebsite(namespace, "before", framework.Detailed),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bindMutating(t, policy, selector)
	dryRun := []string{metav1.DryRunAll}
	rich := framework.NewClients(t, owners.rich).Websites.WebsiteV1beta1().Websites(namespace)
	framework.WaitFor(t, "the policy adds the Secret", func(ctx context.Context) error {
		w, err := rich.Create(ctx, framework.NewWebsite(namespace, "kubia", framework.Detailed),
			metav1.CreateOptions{DryRun: dryRun})
		if err == nil && w.Spec.Source.Git.SecretRef == nil {
			err = errors.New("it is as it was sent")
		}
		return err
	})
	_, err := poor.Create(ctx, framework.NewWebsite(namespace, "kubia", framework.Detailed),
		metav1.CreateOptions{DryRun: dryRun})
	checkSecretRefused(t, "create", secretField, namespace, "key", err)
	_, err = poor.Patch(ctx, "before", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`),
		metav1.PatchOptions{})
	checkSecretRefused(t, "patch", secretField, namespace, "key", err)
}
