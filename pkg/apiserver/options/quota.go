package options

import (
	"slices"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/kubesites/website-apiserver/pkg/apiserver/ownerreferences"
)

// addResourceQuota makes ResourceQuotas of the host cluster count Websites, as
// count/websites.mycontroller.nevermosby.io. The plugin is not among the
// default ones of API servers.
func addResourceQuota(recommended *genericoptions.RecommendedOptions) {
	resourcequota.Register(recommended.Admission.Plugins)
	// It is last: requests that another plugin denies must not be counted.
	recommended.Admission.RecommendedPluginOrder = append(recommended.Admission.RecommendedPluginOrder,
		resourcequota.PluginName)
}

// addOwnerReferences adds the plugin that protects owner references, which is off by default, as in kube-apiserver.
func addOwnerReferences(recommended *genericoptions.RecommendedOptions) {
	ownerreferences.Register(recommended.Admission.Plugins)
	order := recommended.Admission.RecommendedPluginOrder
	// It precedes webhooks and policies, as in kube-apiserver.
	first := slices.Index(order, lifecycle.PluginName) + 1
	recommended.Admission.RecommendedPluginOrder = slices.Insert(order, first, ownerreferences.PluginName)
	recommended.Admission.DefaultOffPlugins.Insert(ownerreferences.PluginName)
}

// newQuotaInitializer returns an initializer without evaluators: the plugin makes
// one that counts objects for every resource.
func newQuotaInitializer() quotaInitializer {
	return quotaInitializer{generic.NewConfiguration(nil, nil)}
}

// quotaInitializer sets the quota configuration of admission plugins.
type quotaInitializer struct {
	configuration quota.Configuration
}

// Initialize sets the configuration.
func (i quotaInitializer) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(i.configuration)
	}
}
