package integration

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// TestSecretReferencesAreMigrated has the storage migrated by a user who may get
// no Secret.
func TestSecretReferencesAreMigrated(t *testing.T) {
	t.Parallel()
	s, namespace := newServer(t), newNamespace(t)
	storeAsV1alpha1(t, s, []*v1alpha1.Website{newWebsite(namespace, "kubia", func(w *v1alpha1.Website) {
		w.UID, w.CreationTimestamp = "00000000-0000-4000-8000-000000000000", metav1.Now().Rfc3339Copy()
		w.Annotations = map[string]string{website.AnnotationV1beta1Fields: carriedSecret}
	})})
	migrator, bindings := namespace+"-migrator", admin(t).kubernetes.RbacV1().ClusterRoleBindings()
	if _, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: migrator},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "website-storage-migrator"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: migrator}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deleteInTheEnd(t, bindings, migrator)
	config, err := cluster.UserConfig(migrator)
	if err != nil {
		t.Fatal(err)
	}
	config.Host = s.url
	migrate := exec.CommandContext(t.Context(), cluster.Process("website-apiserver").Args()[0], "migrate-storage", "--kubeconfig="+kubeconfig(t, config))
	if output, err := migrate.CombinedOutput(); err != nil || !strings.Contains(string(output), "1 Websites: 1 rewritten") {
		t.Errorf("migrating the storage: %v\n%s", err, output)
	}
	w, err := newClients(t, s.config(t)).websites.WebsiteV1beta1().Websites(namespace).Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil || w.Spec.Source.SecretRef == nil || w.Spec.Source.SecretRef.Name != "key" {
		t.Errorf("after the migration: %+v (%v), want it to refer to the Secret", w.Spec.Source, err)
	}
}

// TestSecretReferencesOfPolicies: what admission adds to a Website is authorized
// as if the user had written it.
func TestSecretReferencesOfPolicies(t *testing.T) {
	t.Parallel()
	ctx, owners := t.Context(), newSecretOwners(t)
	namespace := owners.namespace
	client := admin(t).kubernetes.AdmissionregistrationV1()
	selector, rule := ours(namespace, admissionregistrationv1.Create, admissionregistrationv1.Update)
	policy, err := client.MutatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "with-secret-"},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints:   &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}}},
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: `Object{spec: Object.spec{source: Object.spec.source{secretRef: Object.spec.source.secretRef{name: "key"}}}}`},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deleteInTheEnd(t, client.MutatingAdmissionPolicies(), policy.Name)
	poor := newClients(t, owners.poor).websites.WebsiteV1beta1().Websites(namespace)
	if _, err := poor.Create(ctx, newBetaWebsite(namespace, "before"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding, err := client.MutatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: selector},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deleteInTheEnd(t, client.MutatingAdmissionPolicyBindings(), binding.Name)
	dryRun := []string{metav1.DryRunAll}
	rich := newClients(t, owners.rich).websites.WebsiteV1beta1().Websites(namespace)
	waitFor(t, "the policy adds the Secret", func(ctx context.Context) error {
		w, err := rich.Create(ctx, newBetaWebsite(namespace, "kubia"), metav1.CreateOptions{DryRun: dryRun})
		if err == nil && w.Spec.Source.SecretRef == nil {
			err = errors.New("it is as it was sent")
		}
		return err
	})
	_, err = poor.Create(ctx, newBetaWebsite(namespace, "kubia"), metav1.CreateOptions{DryRun: dryRun})
	checkSecretRefused(t, "create", secretField, namespace, "key", err)
	_, err = poor.Patch(ctx, "before", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	checkSecretRefused(t, "patch", secretField, namespace, "key", err)
}
