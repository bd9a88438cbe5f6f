// Package manifests loads admission policies and webhooks from files, as kube-apiserver does for the
// staticManifestsDir of --admission-control-config-file (KEP-5793).
//
// k8s.io/apiserver has the plugins and reads the files; defaults and the conversion to lists of objects are left to
// each server, and those of kube-apiserver are not in a library.
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

// Initializer gives the loaders to the admission plugins that take them.
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
	// Strict: a field of a policy that is misspelled must not be ignored.
	return Initializer{scheme, serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()}, nil
}

// Initialize gives a plugin the loaders.
func (i Initializer) Initialize(plugin admission.Interface) {
	wants, ok := plugin.(initializer.WantsManifestLoaders)
	if !ok {
		return
	}
	wants.SetManifestLoaders(&initializer.ManifestLoaders{
		LoadValidatingPolicyManifests: func(dir string) ([]*admissionregistrationv1.ValidatingAdmissionPolicy, []*admissionregistrationv1.ValidatingAdmissionPolicyBinding, string, error) {
			return policyloader.LoadPolicyManifests(dir, i.decoder,
				accept(i.scheme, func(l *admissionregistrationv1.ValidatingAdmissionPolicyList) []admissionregistrationv1.ValidatingAdmissionPolicy {
					return l.Items
				}),
				accept(i.scheme, func(l *admissionregistrationv1.ValidatingAdmissionPolicyBindingList) []admissionregistrationv1.ValidatingAdmissionPolicyBinding {
					return l.Items
				}),
				func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
		},
		LoadMutatingPolicyManifests: func(dir string) ([]*admissionregistrationv1.MutatingAdmissionPolicy, []*admissionregistrationv1.MutatingAdmissionPolicyBinding, string, error) {
			return policyloader.LoadPolicyManifests(dir, i.decoder,
				accept(i.scheme, func(l *admissionregistrationv1.MutatingAdmissionPolicyList) []admissionregistrationv1.MutatingAdmissionPolicy {
					return l.Items
				}),
				accept(i.scheme, func(l *admissionregistrationv1.MutatingAdmissionPolicyBindingList) []admissionregistrationv1.MutatingAdmissionPolicyBinding {
					return l.Items
				}),
				func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
		},
		LoadValidatingWebhookManifests: func(dir string) ([]*admissionregistrationv1.ValidatingWebhookConfiguration, string, error) {
			return webhookloader.LoadManifests(dir, i.decoder,
				webhookloader.AcceptObjectFunc[*admissionregistrationv1.ValidatingWebhookConfiguration](
					accept(i.scheme, func(l *admissionregistrationv1.ValidatingWebhookConfigurationList) []admissionregistrationv1.ValidatingWebhookConfiguration {
						return l.Items
					})))
		},
		LoadMutatingWebhookManifests: func(dir string) ([]*admissionregistrationv1.MutatingWebhookConfiguration, string, error) {
			return webhookloader.LoadManifests(dir, i.decoder,
				webhookloader.AcceptObjectFunc[*admissionregistrationv1.MutatingWebhookConfiguration](
					accept(i.scheme, func(l *admissionregistrationv1.MutatingWebhookConfigurationList) []admissionregistrationv1.MutatingWebhookConfiguration {
						return l.Items
					})))
		},
	})
}

// accept returns a function that takes an object of type T, or the items of its list, and sets defaults.
func accept[T, L any](scheme *runtime.Scheme, itemsOf func(*L) []T) func(runtime.Object) ([]*T, error) {
	return func(obj runtime.Object) ([]*T, error) {
		scheme.Default(obj)
		switch obj := any(obj).(type) {
		case *T:
			return []*T{obj}, nil
		case *L:
			list := itemsOf(obj)
			items := make([]*T, len(list))
			for i := range list {
				items[i] = &list[i]
			}
			return items, nil
		default:
			return nil, fmt.Errorf("%T: %w", obj, policyloader.ErrUnrecognizedType)
		}
	}
}
