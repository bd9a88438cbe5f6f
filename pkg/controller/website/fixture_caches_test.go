package website

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// syncCaches updates the caches from the API server.
func (f *fixture) syncCaches() {
	f.Helper()
	deployments, err := f.kube.AppsV1().Deployments("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	services, err := f.kube.CoreV1().Services("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	configMaps, err := f.kube.CoreV1().ConfigMaps("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	budgets, err := f.kube.PolicyV1().PodDisruptionBudgets("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	pods, err := f.kube.CoreV1().Pods("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	replicaSets, err := f.kube.AppsV1().ReplicaSets("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	replaceCache(f, f.childInformers.Apps().V1().ReplicaSets().Informer(), replicaSets.Items)
	replaceCache(f, f.childInformers.Policy().V1().PodDisruptionBudgets().Informer(), budgets.Items)
	replaceCache(f, f.childInformers.Core().V1().Pods().Informer(), pods.Items)
	replaceCache(f, f.childInformers.Apps().V1().Deployments().Informer(), deployments.Items)
	replaceCache(f, f.childInformers.Core().V1().Services().Informer(), services.Items)
	replaceCache(f, f.childInformers.Core().V1().ConfigMaps().Informer(), configMaps.Items)
}

// replaceCache does the same as an informer: select by label, transform, store.
func replaceCache[T any, P interface {
	*T
	object
}](f *fixture, informer cache.SharedIndexInformer, items []T) {
	f.Helper()
	var visible []any
	for i := range items {
		obj := P(&items[i])
		if obj.GetLabels()[resources.LabelManagedBy] != resources.ManagedBy {
			continue
		}
		visible = append(visible, cached.Of(obj))
	}
	if err := informer.GetIndexer().Replace(visible, ""); err != nil {
		f.Fatal(err)
	}
}

// snapshot encodes everything in the caches.
func (f *fixture) snapshot() map[string]string {
	all := map[string]string{}
	for _, informer := range []cache.SharedIndexInformer{
		f.websiteInformers.Website().V1beta1().Websites().Informer(),
		f.childInformers.Apps().V1().Deployments().Informer(),
		f.childInformers.Apps().V1().ReplicaSets().Informer(),
		f.childInformers.Core().V1().Services().Informer(),
		f.childInformers.Core().V1().ConfigMaps().Informer(),
		f.childInformers.Policy().V1().PodDisruptionBudgets().Informer(),
		f.childInformers.Core().V1().Pods().Informer(),
	} {
		for _, obj := range informer.GetIndexer().List() {
			data, err := json.Marshal(obj)
			if err != nil {
				f.Fatal(err)
			}
			all[fmt.Sprintf("%T %s", obj, obj.(metav1.ObjectMetaAccessor).GetObjectMeta().GetName())] = string(data)
		}
	}
	return all
}

// refreshWebsites updates the cache of Websites from the API server.
func (f *fixture) refreshWebsites() {
	f.Helper()
	list, err := f.websites.WebsiteV1beta1().Websites("").List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	for i := range list.Items {
		f.cacheWebsite(&list.Items[i])
	}
}
