package options

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	mutatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/client-go/informers"
)

// policyInitializer keeps the parameters of admission policies out of the
// informers that the server shares, and whose readiness it awaits.
//
// The parameter of every policy of the cluster is read here, whether the policy
// matches Websites or not. A shared informer for a kind that the server may not
// read would block readiness for good, and one that was stopped, because no
// policy was bound to it for a moment, would never follow its objects again.
type policyInitializer struct {
	informers informers.SharedInformerFactory
}

// Initialize passes informers to plugins that enforce policies.
func (i policyInitializer) Initialize(plugin admission.Interface) {
	switch plugin := plugin.(type) {
	case *mutatingadmissionpolicy.Plugin:
		plugin.SetExternalKubeInformerFactory(policyInformers{i.informers})
	case *validatingadmissionpolicy.Plugin:
		plugin.SetExternalKubeInformerFactory(policyInformers{i.informers})
	}
}

// policyInformers share all informers except those by resource, which are for
// parameters. For these, plugins then make informers of their own, as they do for
// custom resources.
type policyInformers struct {
	informers.SharedInformerFactory
}

// ForResource always fails.
func (policyInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return nil, fmt.Errorf("informers for parameters of policies are not shared: %s", resource)
}
