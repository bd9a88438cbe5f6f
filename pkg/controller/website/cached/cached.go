package cached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Of returns the cached form of an object. It does not change an object in that form, as informers
// may call transform functions twice.
func Of(object any) any {
	switch object := object.(type) {
	case *appsv1.Deployment:
		return OfDeployment(object)
	case *corev1.ConfigMap:
		return OfConfigMap(object)
	case *corev1.Service:
		return OfService(object)
	case *policyv1.PodDisruptionBudget:
		return OfPodDisruptionBudget(object)
	case *networkingv1.Ingress:
		return OfIngress(object)
	case *gatewayv1.HTTPRoute:
		return OfHTTPRoute(object)
	case *gatewayv1.ListenerSet:
		return OfListenerSet(object)
	case *appsv1.ReplicaSet:
		return OfReplicaSet(object)
	case *corev1.Pod:
		return OfPod(object)
	default:
		return object
	}
}

// TrimPreview drops the managed fields of a Website except the ones of the controller: a preview is
// both a child and a Website, and in the cache of Websites.
func TrimPreview(website *v1beta1.Website) {
	entry := appliedEntry(website, FieldManager)
	if entry == nil {
		website.ManagedFields = nil
		return
	}
	website.ManagedFields = []metav1.ManagedFieldsEntry{*entry}
}

// copied returns a copy of an object in the caches that shares its parts, as nothing changes them. Objects in caches
// are runtime.Objects because the MutationCache of client-go compares only those.
func copied[T any](object *T) *T { return ptr.To(*object) }

// The copies of children.
func (d *Deployment) DeepCopyObject() runtime.Object          { return copied(d) }
func (c *ConfigMap) DeepCopyObject() runtime.Object           { return copied(c) }
func (s *Service) DeepCopyObject() runtime.Object             { return copied(s) }
func (b *PodDisruptionBudget) DeepCopyObject() runtime.Object { return copied(b) }
func (i *Ingress) DeepCopyObject() runtime.Object             { return copied(i) }
func (r *HTTPRoute) DeepCopyObject() runtime.Object           { return copied(r) }
func (s *ListenerSet) DeepCopyObject() runtime.Object         { return copied(s) }
