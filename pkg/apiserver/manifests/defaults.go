package manifests

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// webhookTimeoutSeconds is the default of timeoutSeconds in the API of webhooks.
const webhookTimeoutSeconds = 10

// addDefaults registers the defaults of the API: plugins expect manifests like objects
// from kube-apiserver.
func addDefaults(scheme *runtime.Scheme) {
	addDefault(scheme, defaultValidatingPolicy)
	addDefault(scheme, defaultMutatingPolicy)
	addDefault(scheme, func(b *validatingBinding) {
		defaultMatchResources(b.Spec.MatchResources)
	})
	addDefault(scheme, func(b *mutatingBinding) {
		defaultMatchResources(b.Spec.MatchResources)
	})
	addDefault(scheme, defaultValidatingWebhooks)
	addDefault(scheme, defaultMutatingWebhooks)
}

func addDefault[T any](scheme *runtime.Scheme, set func(*T)) {
	var typed any = new(T)
	scheme.AddTypeDefaultingFunc(typed.(runtime.Object), func(obj any) { set(obj.(*T)) })
}

func each[T any](items []T, set func(*T)) {
	for i := range items {
		set(&items[i])
	}
}

// setDefault sets an unset field.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = ptr.To(value)
	}
}

func defaultValidatingPolicy(policy *validatingPolicy) {
	setDefault(&policy.Spec.FailurePolicy, admissionregistrationv1.Fail)
	defaultMatchResources(policy.Spec.MatchConstraints)
}

func defaultMutatingPolicy(policy *mutatingPolicy) {
	setDefault(&policy.Spec.FailurePolicy, admissionregistrationv1.Fail)
	defaultMatchResources(policy.Spec.MatchConstraints)
}

func defaultMatchResources(match *admissionregistrationv1.MatchResources) {
	if match == nil {
		return
	}
	setDefault(&match.MatchPolicy, admissionregistrationv1.Equivalent)
	setDefault(&match.NamespaceSelector, metav1.LabelSelector{})
	setDefault(&match.ObjectSelector, metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{match.ResourceRules,
		match.ExcludeResourceRules} {
		each(rules, func(rule *admissionregistrationv1.NamedRuleWithOperations) {
			setDefault(&rule.Scope, admissionregistrationv1.AllScopes)
		})
	}
}

func defaultValidatingWebhooks(configuration *validatingWebhooks) {
	each(configuration.Webhooks, func(w *admissionregistrationv1.ValidatingWebhook) {
		defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds, w.Rules)
	})
}

func defaultMutatingWebhooks(configuration *mutatingWebhooks) {
	each(configuration.Webhooks, func(w *admissionregistrationv1.MutatingWebhook) {
		defaultWebhook(&w.FailurePolicy, &w.MatchPolicy, &w.NamespaceSelector, &w.ObjectSelector, &w.TimeoutSeconds, w.Rules)
		setDefault(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
	})
}

// defaultWebhook sets the fields that webhooks of both kinds have.
func defaultWebhook(
	failurePolicy **admissionregistrationv1.FailurePolicyType, matchPolicy **admissionregistrationv1.MatchPolicyType,
	namespaces, objects **metav1.LabelSelector, timeoutSeconds **int32, rules []admissionregistrationv1.RuleWithOperations,
) {
	setDefault(failurePolicy, admissionregistrationv1.Fail)
	setDefault(matchPolicy, admissionregistrationv1.Equivalent)
	setDefault(namespaces, metav1.LabelSelector{})
	setDefault(objects, metav1.LabelSelector{})
	setDefault(timeoutSeconds, webhookTimeoutSeconds)
	each(rules, func(rule *admissionregistrationv1.RuleWithOperations) {
		setDefault(&rule.Scope, admissionregistrationv1.AllScopes)
	})
}
