package website

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	websiteinformers "github.com/kubesites/website-apiserver/pkg/generated/informers/externalversions"
)

const (
	// byDeploymentName indexes Websites by the name that they claim. Several may claim the same name;
	// the others are looked up here when the name becomes free.
	byDeploymentName = "namespace/deploymentName"
	// byWebsite indexes pods by the Website that their labels name.
	byWebsite = "namespace/website"
)

// NewWebsiteInformers returns informers for the Websites of a namespace, or of all
// (metav1.NamespaceAll). With a resync period, every Website is reconciled periodically without a
// change.
func NewWebsiteInformers(client versioned.Interface, namespace string,
	resync time.Duration) websiteinformers.SharedInformerFactory {
	return websiteinformers.NewSharedInformerFactoryWithOptions(client, resync,
		websiteinformers.WithNamespace(namespace),
		websiteinformers.WithTransform(trimWebsite))
}

// NewChildInformers returns informers for the children of the Websites of a namespace, or of all
// (metav1.NamespaceAll), their ReplicaSets and pods. They list only objects with the label of the
// controller, which keeps the other Deployments, Services, ConfigMaps and pods of a cluster out of
// memory.
func NewChildInformers(client kubernetes.Interface, namespace string) kubeinformers.SharedInformerFactory {
	selector := labels.SelectorFromSet(labels.Set{resources.LabelManagedBy: resources.ManagedBy}).String()
	return kubeinformers.NewSharedInformerFactoryWithOptions(client, 0,
		kubeinformers.WithNamespace(namespace),
		kubeinformers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = selector }),
		kubeinformers.WithTransform(func(obj any) (any, error) { return cached.Of(obj), nil }))
}

// trimWebsite removes the managed fields of Websites. Previews keep theirs, because they are
// children.
func trimWebsite(obj any) (any, error) {
	if website, ok := obj.(*v1beta1.Website); ok {
		if api.PreviewOwner(website) != nil {
			cached.TrimPreview(website)
		} else {
			website.ManagedFields = nil
		}
		internDefaults(website)
		for i := range website.Status.Conditions {
			condition := &website.Status.Conditions[i]
			cached.Intern(&condition.Type)
			cached.Intern(&condition.Status)
			cached.Intern(&condition.Reason)
			cached.Intern(&condition.Message)
		}
	}
	return obj, nil
}

// internDefaults shares values that are equal in most Websites. Decoding allocates them for each.
func internDefaults(website *v1beta1.Website) {
	spec := &website.Spec
	cached.Intern(&website.Namespace)
	if git := spec.Source.Git; git != nil {
		cached.Intern(&git.Submodules)
		cached.Intern(&git.CredentialScope)
	}
	cached.Intern(&spec.Serving.Index)
	cached.Intern(&spec.Serving.NotFoundPath)
	cached.Intern(&spec.Serving.Fallback)
	cached.Intern(&spec.Service.Type)
}

// websiteIndexers returns the indexers of the Website informer.
func websiteIndexers() cache.Indexers {
	return cache.Indexers{
		cached.ByOwner: cached.IndexByOwner()[cached.ByOwner],
		byDeploymentName: func(obj any) ([]string, error) {
			website, ok := obj.(*v1beta1.Website)
			if !ok {
				return nil, nil
			}
			return []string{claimOf(website.Namespace, resources.DeploymentName(website))}, nil
		},
	}
}

// podIndexers returns the indexers of the pod informer.
func podIndexers() cache.Indexers {
	return cache.Indexers{
		byWebsite: func(obj any) ([]string, error) {
			pod, ok := obj.(*cached.Pod)
			if !ok {
				return nil, nil
			}
			return []string{pod.Website.String()}, nil
		},
	}
}

// claimOf returns a key of byDeploymentName.
func claimOf(namespace, deploymentName string) string {
	return cache.NewObjectName(namespace, deploymentName).String()
}

// claimants returns the Websites that claim a deployment name.
func claimants(index cache.Indexer, namespace, deploymentName string) []*v1beta1.Website {
	return cached.Indexed[*v1beta1.Website](index, byDeploymentName, claimOf(namespace, deploymentName))
}
