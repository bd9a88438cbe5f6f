package website

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	websiteinformers "github.com/kubesites/website-apiserver/pkg/generated/informers/externalversions"
)

// byDeploymentName indexes Websites by the name that they claim. Several may
// claim one; whoever lost is looked up here when the name comes free.
const byDeploymentName = "namespace/deploymentName"

// NewWebsiteInformers returns informers for the Websites of a namespace, or of
// all (metav1.NamespaceAll). With a resync period, every Website gets a pass
// that often although nothing changed.
func NewWebsiteInformers(client versioned.Interface, namespace string, resync time.Duration) websiteinformers.SharedInformerFactory {
	return websiteinformers.NewSharedInformerFactoryWithOptions(client, resync,
		websiteinformers.WithNamespace(namespace),
		websiteinformers.WithTransform(dropManagedFields))
}

// NewChildInformers returns informers for the children of the Websites of a
// namespace, or of all (metav1.NamespaceAll), and for their pods. They see only
// what carries the label of the controller, which keeps the rest of a cluster's
// Deployments, Services, ConfigMaps and pods out of memory.
func NewChildInformers(client kubernetes.Interface, namespace string) kubeinformers.SharedInformerFactory {
	selector := labels.SelectorFromSet(labels.Set{resources.LabelManagedBy: resources.ManagedBy}).String()
	return kubeinformers.NewSharedInformerFactoryWithOptions(client, 0,
		kubeinformers.WithNamespace(namespace),
		kubeinformers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = selector }),
		kubeinformers.WithTransform(trim))
}

// dropManagedFields is for objects whose managed fields nobody here reads.
// Writing such an object back is harmless: the API server takes missing managed
// fields for those of a client that does not know them.
func dropManagedFields(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}

// trim keeps of an object in the cache what is read here.
func trim(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		stripPod(pod)
		return pod, nil
	}
	return keepOwnManagedFields(obj)
}

// keepOwnManagedFields keeps of a child's managed fields the entry from which
// the controller tells what it applied before; the others are often as large as
// the object itself.
func keepOwnManagedFields(obj any) (any, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return obj, nil // The tombstone of a deleted object.
	}
	accessor.SetManagedFields(slices.DeleteFunc(accessor.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply
	}))
	return obj, nil
}

// indexers are those of the Website informer.
func indexers() cache.Indexers {
	return cache.Indexers{
		byDeploymentName: func(obj any) ([]string, error) {
			site, ok := obj.(*v1beta1.Website)
			if !ok {
				return nil, nil
			}
			return []string{claimOf(site.Namespace, resources.DeploymentName(site))}, nil
		},
	}
}

// podIndexers are those of the pod informer.
func podIndexers() cache.Indexers {
	return cache.Indexers{
		byWebsite: func(obj any) ([]string, error) {
			pod, ok := obj.(*corev1.Pod)
			if !ok {
				return nil, nil
			}
			return []string{websiteOfPod(pod).String()}, nil
		},
	}
}

// claimOf is the key of byDeploymentName.
func claimOf(namespace, deploymentName string) string {
	return cache.NewObjectName(namespace, deploymentName).String()
}
