// Package manifests loads admission policies and webhooks from files, as kube-apiserver does for the
// staticManifestsDir of --admission-control-config-file (KEP-5793).
//
// k8s.io/apiserver has the plugins and reads the files; each server must provide defaults and the conversion to
// lists of objects, and kube-apiserver's are not in a library.
package manifests

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	policyloader "k8s.io/apiserver/pkg/admission/plugin/policy/manifest/loader"
	webhookloader "k8s.io/apiserver/pkg/admission/plugin/webhook/manifest/loader"
)

// The kinds of manifests, and their lists.
type (
	validatingPolicyList   = admissionregistrationv1.ValidatingAdmissionPolicyList
	validatingBindingList  = admissionregistrationv1.ValidatingAdmissionPolicyBindingList
	mutatingPolicyList     = admissionregistrationv1.MutatingAdmissionPolicyList
	mutatingBindingList    = admissionregistrationv1.MutatingAdmissionPolicyBindingList
	validatingWebhooksList = admissionregistrationv1.ValidatingWebhookConfigurationList
	mutatingWebhooksList   = admissionregistrationv1.MutatingWebhookConfigurationList

	validatingPolicy   = admissionregistrationv1.ValidatingAdmissionPolicy
	validatingBinding  = admissionregistrationv1.ValidatingAdmissionPolicyBinding
	mutatingPolicy     = admissionregistrationv1.MutatingAdmissionPolicy
	mutatingBinding    = admissionregistrationv1.MutatingAdmissionPolicyBinding
	validatingWebhooks = admissionregistrationv1.ValidatingWebhookConfiguration
	mutatingWebhooks   = admissionregistrationv1.MutatingWebhookConfiguration
)

// Initializer passes the loaders to the admission plugins that use them.
type Initializer struct {
	scheme  *runtime.Scheme
	decoder runtime.Decoder
}

var _ admission.PluginInitializer = Initializer{}

// NewInitializer returns an Initializer. It returns an error if the types cannot be registered.
func NewInitializer() (Initializer, error) {
	scheme := runtime.NewScheme()
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		return Initializer{}, fmt.Errorf("registering the types of admission manifests: %w", err)
	}
	scheme.AddUnversionedTypes(metav1.SchemeGroupVersion, &metav1.List{}, &metav1.Status{})
	addDefaults(scheme)
	// Decoding is strict: a misspelled field of a policy must not be ignored.
	return Initializer{scheme, serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()}, nil
}

// Initialize passes the loaders to a plugin.
func (i Initializer) Initialize(plugin admission.Interface) {
	wants, ok := plugin.(initializer.WantsManifestLoaders)
	if !ok {
		return
	}
	wants.SetManifestLoaders(&initializer.ManifestLoaders{
		LoadValidatingPolicyManifests:  i.validatingPolicies,
		LoadMutatingPolicyManifests:    i.mutatingPolicies,
		LoadValidatingWebhookManifests: i.validatingWebhooks,
		LoadMutatingWebhookManifests:   i.mutatingWebhooks,
	})
}

func (i Initializer) validatingPolicies(dir string) ([]*validatingPolicy, []*validatingBinding, string, error) {
	return policyloader.LoadPolicyManifests(dir, i.decoder,
		accept(i.scheme, func(l *validatingPolicyList) []validatingPolicy { return l.Items }),
		accept(i.scheme, func(l *validatingBindingList) []validatingBinding { return l.Items }),
		func(b *validatingBinding) string { return b.Spec.PolicyName })
}

func (i Initializer) mutatingPolicies(dir string) ([]*mutatingPolicy, []*mutatingBinding, string, error) {
	return policyloader.LoadPolicyManifests(dir, i.decoder,
		accept(i.scheme, func(l *mutatingPolicyList) []mutatingPolicy { return l.Items }),
		accept(i.scheme, func(l *mutatingBindingList) []mutatingBinding { return l.Items }),
		func(b *mutatingBinding) string { return b.Spec.PolicyName })
}

func (i Initializer) validatingWebhooks(dir string) ([]*validatingWebhooks, string, error) {
	itemsOf := func(l *validatingWebhooksList) []validatingWebhooks { return l.Items }
	return webhookloader.LoadManifests[*validatingWebhooks](dir, i.decoder, accept(i.scheme, itemsOf))
}

func (i Initializer) mutatingWebhooks(dir string) ([]*mutatingWebhooks, string, error) {
	itemsOf := func(l *mutatingWebhooksList) []mutatingWebhooks { return l.Items }
	return webhookloader.LoadManifests[*mutatingWebhooks](dir, i.decoder, accept(i.scheme, itemsOf))
}

// accept returns a function that accepts an object of type T, or the items of its list, and
// sets defaults.
func accept[T, L any](scheme *runtime.Scheme, itemsOf func(*L) []T) func(runtime.Object) ([]*T, error) {
	return func(obj runtime.Object) ([]*T, error) {
		var items []*T
		switch obj := any(obj).(type) {
		case *T:
			items = []*T{obj}
		case *L:
			each(itemsOf(obj), func(item *T) { items = append(items, item) })
		default:
			return nil, fmt.Errorf("%T: %w", obj, policyloader.ErrUnrecognizedType)
		}
		for _, item := range items {
			scheme.Default(any(item).(runtime.Object))
		}
		return items, nil
	}
}
