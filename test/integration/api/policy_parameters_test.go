package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// parameter refers to an object of the namespace of the request. A policy with a missing parameter
// denies the request.
func parameter(name string) *admissionregistrationv1.ParamRef {
	deny := admissionregistrationv1.DenyAction
	return &admissionregistrationv1.ParamRef{Name: name, ParameterNotFoundAction: &deny}
}

// validating creates a policy on Websites with a parameter, without a binding.
func validating(t *testing.T, kind string,
	validation admissionregistrationv1.Validation) *admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	_, rule := framework.RuleFor("", admissionregistrationv1.Create)
	return newPolicy(t, rule, &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: kind}, validation)
}

// mayRead permits website-apiserver to read a resource of the core group in all namespaces, until
// the test ends.
func mayRead(t *testing.T, resource string) {
	t.Helper()
	rbac := framework.Admin(t).Kubernetes.RbacV1()
	role, err := rbac.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "website-apiserver-parameters-"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource},
			Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, rbac.ClusterRoles(), role.Name)
	_, err = rbac.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "website-system",
			Name: "website-apiserver"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, rbac.ClusterRoleBindings(), role.Name)
}

// TestPolicyParameters tests policies with ConfigMaps as parameters. The subtests are not parallel:
// website-apiserver watches ConfigMaps as long as any policy has one as parameter.
func TestPolicyParameters(t *testing.T) {
	t.Parallel()
	mayRead(t, "configmaps")
	t.Run("validating", testValidatingParameters)
	t.Run("mutating", testMutatingParameters)
}

// testValidatingParameters sets the limit of a policy by a ConfigMap. A change of the ConfigMap
// takes effect, also after the policy was unbound in between.
func testValidatingParameters(t *testing.T) {
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	configMaps := framework.Admin(t).Kubernetes.CoreV1().ConfigMaps(namespace)
	limits, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "limits"},
		Data: map[string]string{"replicas": "2"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	limit := func(replicas string) {
		t.Helper()
		limits.Data["replicas"] = replicas
		if limits, err = configMaps.Update(ctx, limits, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	limited := func(replicas int32, message string) {
		t.Helper()
		framework.WaitFor(t, fmt.Sprintf("%d replicas are refused: %s", replicas, message), func(ctx context.Context) error {
			_, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(replicas)))
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), message) {
				return fmt.Errorf("got %v", err)
			}
			return nil
		})
	}
	allowed := func(replicas int32) {
		t.Helper()
		framework.WaitFor(t, fmt.Sprintf("%d replicas are allowed", replicas), func(ctx context.Context) error {
			_, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(replicas)))
			return err
		})
	}
	policy := validating(t, "ConfigMap", admissionregistrationv1.Validation{
		Expression:        `object.spec.replicas <= int(params.data.replicas)`,
		MessageExpression: `"at most " + params.data.replicas + " replicas"`,
	})
	unbind := bind(t, policy, namespace, parameter(limits.Name))
	limited(3, "at most 2 replicas")
	allowed(2)
	limit("4")
	allowed(3)
	limited(5, "at most 4 replicas")

	unbind()
	allowed(5)
	limit("1")
	bind(t, policy, namespace, parameter(limits.Name))
	limited(2, "at most 1 replicas")
	if err := configMaps.Delete(ctx, limits.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	limited(1, "no params found for policy binding with `Deny` parameterNotFoundAction")
}

// testMutatingParameters sets the value that a policy writes by a ConfigMap.
func testMutatingParameters(t *testing.T) {
	framework.RequireResource(t, "admissionregistration.k8s.io/v1", "mutatingadmissionpolicies")
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	if _, err := framework.Admin(t).Kubernetes.CoreV1().ConfigMaps(namespace).Create(
		ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Data: map[string]string{"name": "web"}},
		metav1.CreateOptions{},
	); err != nil {
		t.Fatal(err)
	}
	client := framework.Admin(t).Kubernetes.AdmissionregistrationV1()
	selector, rule := framework.RuleFor(namespace, admissionregistrationv1.Create)
	rule.APIVersions = []string{"*"}
	policy, err := client.MutatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "with-parameter-"},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ParamKind: &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
			},
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
					Expression: `Object{metadata: Object.metadata{labels: {"team": params.data.name}}}`,
				},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, client.MutatingAdmissionPolicies(), policy.Name)
	binding, err := client.MutatingAdmissionPolicyBindings().Create(ctx,
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
			Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
				PolicyName:     policy.Name,
				ParamRef:       parameter("team"),
				MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: selector},
			},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, client.MutatingAdmissionPolicyBindings(), binding.Name)
	framework.WaitFor(t, "the policy writes the ConfigMap's value", func(ctx context.Context) error {
		w, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia", func(w *v1alpha1.Website) { w.Labels = nil }))
		if err == nil && w.Labels["team"] != "web" {
			err = errors.New("it is as it was sent")
		}
		return err
	})
}

// TestPolicyParametersThatMayNotBeRead has a policy with parameters of a kind that
// website-apiserver may not read. Granting that is left to an administrator; until then the policy
// denies the requests that it matches, and other requests are not affected.
func TestPolicyParametersThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	ctx, namespace, other := t.Context(), framework.NewNamespace(t), framework.NewNamespace(t)
	_, err := framework.Admin(t).Kubernetes.CoreV1().Secrets(namespace).Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "limits"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	policy := validating(
		t, "Secret", admissionregistrationv1.Validation{Expression: `params.metadata.name == "limits" && ` +
			`object.spec.replicas <= 2`, Message: "at most 2 replicas"},
	)
	bind(t, policy, namespace, parameter("limits"))
	framework.WaitFor(t, "the policy refuses every Website", func(ctx context.Context) error {
		_, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia"))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "denied request: failed to configure binding: "+
			"paramKind kind `&ParamKind{APIVersion:v1,Kind:Secret,}` not yet synced to use for admission") {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	if _, err := tried(ctx, t, framework.NewV1alpha1(other, "kubia")); err != nil {
		t.Errorf("in a namespace that the policy is not about: %v", err)
	}
	if code, body, err := framework.SecureGet(ctx, t, framework.Cluster.WebsiteAPIServerURL()+"/readyz",
		false); err != nil || code != http.StatusOK {
		t.Errorf("GET /readyz = %d %s (%v), want 200", code, body, err)
	}
	framework.WaitFor(t, "the log names the missing permission", func(context.Context) error {
		log := (&framework.Server{Process: framework.Cluster.Process("website-apiserver")}).Log(t)
		if want := `cannot list resource "secrets" in API group ""`; !strings.Contains(strings.ReplaceAll(log,
			`\"`, `"`), want) {
			return fmt.Errorf("no %q", want)
		}
		return nil
	})

	mayRead(t, "secrets")
	framework.WaitFor(t, "the policy allows valid requests", func(ctx context.Context) error {
		_, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(2)))
		return err
	})
	if _, err := tried(
		ctx, t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(3)),
	); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "at most 2 replicas") {
		t.Errorf("3 replicas: %v, want them refused", err)
	}
}
