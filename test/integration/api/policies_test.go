package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// kube-apiserver stores policies and webhooks but only proxies requests for Websites:
// website-apiserver must enforce them.

// newPolicy creates a policy without a binding. The kind of its parameter may be nil.
func newPolicy(
	t *testing.T, rule admissionregistrationv1.RuleWithOperations, parameters *admissionregistrationv1.ParamKind,
	validation admissionregistrationv1.Validation,
) *admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	policies := framework.Admin(t).Kubernetes.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy, err := policies.Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			ParamKind: parameters,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
			},
			Validations: []admissionregistrationv1.Validation{validation},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, policies, policy.Name)
	return policy
}

// bind binds a policy in one namespace, until the test ends or the returned function is called. The
// parameter may be nil.
func bind(t *testing.T, policy *admissionregistrationv1.ValidatingAdmissionPolicy, namespace string,
	parameter *admissionregistrationv1.ParamRef) (unbind func()) {
	t.Helper()
	selector, _ := framework.RuleFor(namespace)
	bindings := framework.Admin(t).Kubernetes.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	binding, err := bindings.Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: policy.Name + "-"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy.Name,
			ParamRef:          parameter,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources:    &admissionregistrationv1.MatchResources{NamespaceSelector: selector},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	unbind = func() {
		if err := bindings.Delete(context.Background(), binding.Name, metav1.DeleteOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	t.Cleanup(unbind)
	return unbind
}

// tried creates a Website as a dry run.
func tried(ctx context.Context, t *testing.T, w *v1alpha1.Website) (*v1alpha1.Website, error) {
	t.Helper()
	return framework.Admin(t).Websites.WebsiteV1alpha1().Websites(w.Namespace).Create(ctx, w,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

func TestNamespaceLifecycle(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, err := tried(ctx, t, framework.NewV1alpha1("no-such-namespace", "kubia"))
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `namespaces "no-such-namespace" not found`) {
		t.Errorf("creating in a namespace that does not exist: %v, want not found", err)
	}

	namespace := framework.NewNamespace(t)
	held := framework.MustCreate(t, framework.NewV1alpha1(namespace, "held", framework.V1alpha1Replicas(0),
		func(w *v1alpha1.Website) { w.Finalizers = []string{"example.com/hold"} }))
	client := framework.Admin(t)
	if err := client.Kubernetes.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := client.Websites.WebsiteV1alpha1().Websites(namespace).Patch(context.Background(), held.Name,
			"application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	framework.WaitFor(t, "nothing can be created in a namespace that terminates", func(ctx context.Context) error {
		_, err := tried(ctx, t, framework.NewV1alpha1(namespace, "late"))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "because it is being terminated") {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
}

func TestValidatingAdmissionPolicy(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	_, rule := framework.RuleFor(namespace, admissionregistrationv1.Create, admissionregistrationv1.Update)
	bind(t, newPolicy(t, rule, nil, admissionregistrationv1.Validation{
		// A field that only v1beta1 has shows the evaluated version.
		Expression: `object.spec.replicas <= 2 || ` +
			`object.spec.source.git.repository.startsWith("https://example.com/")`,
		MessageExpression: `"at most 2 replicas, not " + string(object.spec.replicas)`,
	}), namespace, nil)

	framework.WaitFor(t, "the policy refuses 3 replicas", func(ctx context.Context) error {
		_, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(3)))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "at most 2 replicas, not 3") {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(0)))
	w.Spec.Replicas = ptr.To[int32](3)
	// The controller writes the status meanwhile, which must not reject this update as a conflict.
	w.ResourceVersion = ""
	if _, err := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace).Update(ctx, w,
		metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("an update to 3 replicas: %v, want it refused", err)
	}
	if _, err := tried(ctx, t, framework.NewV1alpha1(namespace, "other", framework.V1alpha1Replicas(3),
		func(w *v1alpha1.Website) { w.Spec.GitRepo = "https://example.com/site.git" })); err != nil {
		t.Errorf("a write that the policy allows: %v", err)
	}
}

// newMutatingPolicy creates a policy that applies an expression to requests that match the rule,
// once it is bound. It is deleted when the test ends.
func newMutatingPolicy(t *testing.T, rule admissionregistrationv1.RuleWithOperations,
	expression string) *admissionregistrationv1.MutatingAdmissionPolicy {
	t.Helper()
	framework.RequireResource(t, "admissionregistration.k8s.io/v1", "mutatingadmissionpolicies")
	policies := framework.Admin(t).Kubernetes.AdmissionregistrationV1().MutatingAdmissionPolicies()
	policy, err := policies.Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "websites-"},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}},
			},
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: expression},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, policies, policy.Name)
	return policy
}

// bindMutating binds a policy in the namespaces of a selector, until the test ends.
func bindMutating(t *testing.T, policy *admissionregistrationv1.MutatingAdmissionPolicy,
	selector *metav1.LabelSelector) {
	t.Helper()
	bindings := framework.Admin(t).Kubernetes.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	binding, err := bindings.Create(t.Context(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: selector},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.DeleteAfter(t, bindings, binding.Name)
}

func TestMutatingAdmissionPolicy(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	selector, rule := framework.RuleFor(namespace, admissionregistrationv1.Create)
	// The plugin cannot convert a changed object into another version, so the rule must name the
	// versions of all requests.
	rule.APIVersions = []string{"*"}
	bindMutating(t, newMutatingPolicy(t, rule,
		`Object{metadata: Object.metadata{labels: {"team": "web"}}, spec: Object.spec{replicas: 2}}`), selector)
	framework.WaitFor(t, "the policy changes a new Website", func(ctx context.Context) error {
		w, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia"))
		if err != nil {
			return err
		}
		if w.Labels["team"] != "web" || *w.Spec.Replicas != 2 {
			return errors.New("it is as it was sent")
		}
		return nil
	})
	beta, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace).Create(
		ctx, framework.NewWebsite(namespace, "kubia", framework.Detailed),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if want := framework.NewWebsite(namespace, "kubia", framework.Detailed).Spec.Source; beta.Labels["team"] != "web" ||
		*beta.Spec.Replicas != 2 || beta.Spec.Source.Git.Repository != want.Git.Repository {
		t.Errorf("through v1beta1: labels %v, spec %+v; want team web, 2 replicas and the rest as it was",
			beta.Labels, beta.Spec)
	}
}

// TestUIDOfUsers: policies see the UID of the user that kube-apiserver has authenticated, also in a
// cluster that publishes no header name for it, such as one of kubeadm.
func TestUIDOfUsers(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	published, err := framework.Admin(t).Kubernetes.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx,
		"extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if names := published.Data["requestheader-uid-headers"]; names != "" && names != "[]" {
		t.Errorf("the cluster publishes the headers %s for UIDs: the case without them is not tested", names)
	}
	_, rule := framework.RuleFor(namespace, admissionregistrationv1.Create)
	bind(t, newPolicy(t, rule, nil, admissionregistrationv1.Validation{
		Expression: `has(request.userInfo.uid) && request.userInfo.uid == "4711"`, Message: "of another user",
	}), namespace, nil)
	framework.WaitFor(t, "the policy refuses other users", func(ctx context.Context) error {
		if _, err := tried(ctx, t, framework.NewV1alpha1(namespace, "kubia")); err == nil ||
			!strings.Contains(err.Error(), "of another user") {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	config := framework.Cluster.AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "jane", UID: "4711", Groups: []string{"system:masters"}}
	_, err = framework.NewClients(t, config).Websites.WebsiteV1alpha1().Websites(namespace).Create(ctx,
		framework.NewV1alpha1(namespace, "kubia"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Errorf("with the UID: %v", err)
	}
}
