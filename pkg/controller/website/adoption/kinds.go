package adoption

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// kind is a kind of children.
type kind struct {
	name     string
	resource schema.GroupVersionResource
	// deploymentName returns the deployment name in the name of a child. It reports false for a name
	// that no child has.
	deploymentName func(name string) (string, bool)
	routes         bool
}

// kinds are in the order of adoption: the ConfigMaps and Secrets of pods come before their
// Deployment. Previews are Websites with a label that the controller trusts: it adopts them itself.
var kinds = []kind{
	{"ConfigMap", corev1.SchemeGroupVersion.WithResource("configmaps"), resources.DeploymentNameOfConfigMap, false},
	{"Service", corev1.SchemeGroupVersion.WithResource("services"), resources.DeploymentNameOfService, false},
	{"PodDisruptionBudget", policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), same, false},
	{"Deployment", appsv1.SchemeGroupVersion.WithResource("deployments"), same, false},
	{"ListenerSet", gatewayv1.SchemeGroupVersion.WithResource("listenersets"), resources.DeploymentNameOfRoute, true},
	{"HTTPRoute", gatewayv1.SchemeGroupVersion.WithResource("httproutes"), resources.DeploymentNameOfRoute, true},
	{"Ingress", networkingv1.SchemeGroupVersion.WithResource("ingresses"), resources.DeploymentNameOfRoute, true},
}

func same(name string) (string, bool) { return name, true }

// isUnrelated reports whether an object is a route that a user has created for a site without hosts.
func (k kind) isUnrelated(website *v1beta1.Website, object metav1.Object) bool {
	return k.routes && len(website.Spec.Hosts) == 0 && !children.HasLabelsOf(website, object)
}
