package children

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitev1beta1ac "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
)

// Children reads and writes the children of all Websites, by kind.
type Children struct {
	ConfigMaps           *ConfigMaps
	AgentKeys            *AgentKeys
	AgentConfigMaps      *configMapKind
	Deployments          *Deployments
	Services             *Kind[*corev1.Service, *cached.Service, *corev1ac.ServiceApplyConfiguration]
	PodDisruptionBudgets *Kind[*policyv1.PodDisruptionBudget, *cached.PodDisruptionBudget,
		*policyv1ac.PodDisruptionBudgetApplyConfiguration]
	HTTPRoutes   *Several[*gatewayv1.HTTPRoute, *cached.HTTPRoute, *gatewayv1ac.HTTPRouteApplyConfiguration]
	ListenerSets *Several[*gatewayv1.ListenerSet, *cached.ListenerSet, *gatewayv1ac.ListenerSetApplyConfiguration]
	Ingresses    *Several[*networkingv1.Ingress, *cached.Ingress, *networkingv1ac.IngressApplyConfiguration]
	Previews     *Several[*v1beta1.Website, *v1beta1.Website, *websitev1beta1ac.WebsiteApplyConfiguration]
}

// RouteStores are the caches of the children that route hosts. Their indexers have ByOwner.
type RouteStores struct {
	HTTPRoutes, ListenerSets, Ingresses cache.Indexer
}

// New returns Children over the informers of the children. The caller starts the informers.
func New(kube kubernetes.Interface, informers kubeinformers.SharedInformerFactory, owners Owners) (*Children, error) {
	core, policy := informers.Core().V1(), informers.Policy().V1()
	configMaps, err := newConfigMaps(kube, informers, owners)
	if err != nil {
		return nil, err
	}
	configMapStore := core.ConfigMaps().Informer().GetStore()
	return &Children{
		ConfigMaps:      configMaps,
		AgentKeys:       &AgentKeys{store: configMapStore, cache: NewCache(configMapStore), client: kube.CoreV1().ConfigMaps},
		AgentConfigMaps: newConfigMapKind(kube, configMapStore, owners),
		Deployments:     newDeployments(kube, informers, owners),
		Services: newKind("Service", owners, core.Services().Informer().GetStore(), kube.CoreV1().Services,
			cached.Services, cached.OfService),
		PodDisruptionBudgets: newKind("PodDisruptionBudget", owners, policy.PodDisruptionBudgets().Informer().GetStore(),
			kube.PolicyV1().PodDisruptionBudgets, cached.PodDisruptionBudgets, cached.OfPodDisruptionBudget),
	}, nil
}

// Shown drops the remembered write of a child if the cache has it by now: until then it is in memory
// twice.
func (c *Children) Shown(object any) {
	switch object := object.(type) {
	case *cached.ConfigMap:
		c.ConfigMaps.shown(object)
		c.AgentConfigMaps.shown(object)
		c.AgentKeys.cached(object.Namespace)
	case *cached.Deployment:
		c.Deployments.shown(object)
	case *cached.Service:
		c.Services.shown(object)
	case *cached.PodDisruptionBudget:
		c.PodDisruptionBudgets.shown(object)
	case *v1beta1.Website:
		c.Previews.shown(object)
	}
}

// AddRoutes adds the children that route hosts. Without it there are none.
func (c *Children) AddRoutes(kube kubernetes.Interface, gateway gatewayclient.Interface,
	stores RouteStores, owners Owners) {
	api := gateway.GatewayV1()
	c.HTTPRoutes = newSeveral(newKind("HTTPRoute", owners, stores.HTTPRoutes, api.HTTPRoutes, cached.HTTPRoutes,
		cached.OfHTTPRoute), stores.HTTPRoutes)
	c.ListenerSets = newSeveral(newKind("ListenerSet", owners, stores.ListenerSets, api.ListenerSets, cached.ListenerSets,
		cached.OfListenerSet), stores.ListenerSets)
	c.Ingresses = newSeveral(newKind("Ingress", owners, stores.Ingresses, kube.NetworkingV1().Ingresses, cached.Ingresses,
		cached.OfIngress), stores.Ingresses)
}

// AddPreviews adds the Websites that are previews. Their cache is the cache of all Websites, and its
// indexer has ByOwner.
func (c *Children) AddPreviews(written cache.MutationCache, indexer cache.Indexer, owners Owners) {
	previews := &Kind[*v1beta1.Website, *v1beta1.Website, *websitev1beta1ac.WebsiteApplyConfiguration]{
		Fields: cached.Previews, name: resources.Kind, owners: owners, otherwise: "rename the branch",
		// Writes of their status count as well.
		cache: written,
		trim: func(preview *v1beta1.Website) *v1beta1.Website {
			cached.TrimPreview(preview)
			return preview
		},
		notes: func(preview *v1beta1.Website) cached.Notes { return cached.NotesOf(preview, cached.Previews) },
	}
	previews.client = func(namespace string) Client[*v1beta1.Website, *websitev1beta1ac.WebsiteApplyConfiguration] {
		return owners.Live.Websites(namespace)
	}
	c.Previews = newSeveral(previews, indexer)
}
