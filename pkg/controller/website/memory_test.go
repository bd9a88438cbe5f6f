package website

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// message is an object that can be encoded as protobuf.
type message interface {
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// received returns an object as a watch decodes it: each string has its own memory.
func received[T any, P interface {
	*T
	message
}](b *testing.B, object any, i int, tweak func(P)) P {
	b.Helper()
	sent := P(new(T))
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, sent)
	}
	if err != nil {
		b.Fatal(err)
	}
	sent.SetUID(types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)))
	sent.SetResourceVersion(strconv.Itoa(1000000 + i))
	sent.SetCreationTimestamp(metav1.Now())
	sent.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: cached.FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:app":{}}}}`),
	}})
	if tweak != nil {
		tweak(sent)
	}
	if data, err = sent.Marshal(); err != nil {
		b.Fatal(err)
	}
	delivered := P(new(T))
	if err := delivered.Unmarshal(data); err != nil {
		b.Fatal(err)
	}
	return delivered
}

// BenchmarkCacheMemory reports the memory of the caches per Website with one pod, in total and by
// kind.
func BenchmarkCacheMemory(b *testing.B) {
	const websites = 1000
	for b.Loop() {
		f := newFixture(&testing.T{})
		total := 0.0
		for _, kind := range slices.Sorted(maps.Keys(cachedObjects)) {
			var stores cache.Indexer
			before := liveHeap()
			for i := range websites {
				website := newWebsite(withName("site-"+strconv.Itoa(i)),
					func(w *v1beta1.Website) { w.Spec.DeploymentName = "site-" + strconv.Itoa(i) })
				for _, object := range cachedObjects[kind](b, website, i) {
					kept, err := trimWebsite(cached.Of(object))
					if err != nil {
						b.Fatal(err)
					}
					stores = f.indexerOf(object)
					if err := stores.Add(kept); err != nil {
						b.Fatal(err)
					}
				}
			}
			perWebsite := (liveHeap() - before) / websites
			b.ReportMetric(perWebsite, kind+"-B")
			total += perWebsite
			runtime.KeepAlive(stores)
		}
		b.ReportMetric(total, "B/website")
		b.ReportMetric(0, "ns/op")
		runtime.KeepAlive(f)
	}
}

func liveHeap() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// indexerOf returns the cache of an object.
func (f *fixture) indexerOf(object any) cache.Indexer {
	core, apps := f.childInformers.Core().V1(), f.childInformers.Apps().V1()
	switch object.(type) {
	case *v1beta1.Website:
		return f.websiteInformers.Website().V1beta1().Websites().Informer().GetIndexer()
	case *appsv1.Deployment:
		return apps.Deployments().Informer().GetIndexer()
	case *appsv1.ReplicaSet:
		return apps.ReplicaSets().Informer().GetIndexer()
	case *corev1.Service:
		return core.Services().Informer().GetIndexer()
	case *corev1.ConfigMap:
		return core.ConfigMaps().Informer().GetIndexer()
	default:
		return core.Pods().Informer().GetIndexer()
	}
}

// cachedObjects are the objects of a Ready Website, by kind.
var cachedObjects = map[string]func(b *testing.B, website *v1beta1.Website, i int) []any{
	"Website": func(b *testing.B, website *v1beta1.Website, i int) []any {
		conditions := []metav1.Condition{}
		for _, kind := range []string{v1beta1.WebsiteReady, v1beta1.WebsiteProgressing, v1beta1.WebsiteAvailable,
			v1beta1.WebsiteSynced} {
			conditions = append(conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Serving",
				Message: "the website is served as specified", LastTransitionTime: metav1.Now(), ObservedGeneration: 1})
		}
		return []any{received(b, website, i, func(w *v1beta1.Website) {
			w.Status = v1beta1.WebsiteStatus{
				ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
				Conditions: conditions,
				Selector:   website.Status.Selector, NodePort: 30080, URLs: []string{"http://192.0.2.1:30080/"}, Commit: commitA,
				History: []v1beta1.WebsiteRelease{{Commit: commitA, Subject: "The first page", Author: "Ada"}},
			}
		})}
	},
	"Deployment": func(b *testing.B, website *v1beta1.Website, i int) []any {
		return []any{received(b, builtDeployment(b, website), i, func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1", cached.GenerationAnnotation: "1"}
			d.Generation = 1
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1,
				AvailableReplicas: 1}
			for _, kind := range []appsv1.DeploymentConditionType{appsv1.DeploymentAvailable, appsv1.DeploymentProgressing} {
				d.Status.Conditions = append(d.Status.Conditions,
					appsv1.DeploymentCondition{Type: kind, Status: corev1.ConditionTrue,
						Reason: "NewReplicaSetAvailable", Message: `ReplicaSet "site-1-5d4f8c7b9" has successfully progressed.`,
						LastUpdateTime: metav1.Now(), LastTransitionTime: metav1.Now()})
			}
		})}
	},
	"ReplicaSet": func(b *testing.B, website *v1beta1.Website, i int) []any {
		deployment := received[appsv1.Deployment](b, builtDeployment(b, website), i, nil)
		return []any{received(b, metav1.ObjectMeta{}, i, func(r *appsv1.ReplicaSet) {
			r.ObjectMeta = deployment.ObjectMeta
			r.Name += "-5d4f8c7b9"
			r.Spec.Template, r.Spec.Replicas = deployment.Spec.Template, ptr.To[int32](1)
			r.Labels = deployment.Spec.Template.Labels
		})}
	},
	"Pod": func(b *testing.B, website *v1beta1.Website, i int) []any {
		deployment := received[appsv1.Deployment](b, builtDeployment(b, website), i, nil)
		return []any{received(b, metav1.ObjectMeta{}, i, func(pod *corev1.Pod) {
			pod.ObjectMeta = metav1.ObjectMeta{
				Name: deployment.Name + "-5d4f8c7b9-abcde", GenerateName: deployment.Name + "-5d4f8c7b9-",
				Namespace: deployment.Namespace,
				UID:       deployment.UID, ResourceVersion: deployment.ResourceVersion, Labels: deployment.Spec.Template.Labels,
				CreationTimestamp: metav1.Now(),
				OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: deployment.Name + "-5d4f8c7b9", UID: deployment.UID,
						Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)},
				},
			}
			pod.Spec = deployment.Spec.Template.Spec
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", HostIP: "192.0.2.1",
				StartTime: ptr.To(metav1.Now())}
			for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.PodScheduled,
				corev1.PodReadyToStartContainers, corev1.ContainersReady} {
				pod.Status.Conditions = append(pod.Status.Conditions,
					corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
			}
			running := func(containers []corev1.Container) (statuses []corev1.ContainerStatus) {
				for _, container := range containers {
					statuses = append(statuses, corev1.ContainerStatus{Name: container.Name, Image: container.Image, Ready: true,
						Started: ptr.To(true),
						State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now())}}})
				}
				return statuses
			}
			pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = running(pod.Spec.InitContainers),
				running(pod.Spec.Containers)
		})}
	},
	"Service": func(b *testing.B, website *v1beta1.Website, i int) []any {
		service := resources.Service(website)
		return []any{received(b, service.WithAnnotations(map[string]string{cached.GenerationAnnotation: "1"}), i,
			func(s *corev1.Service) {
				s.Spec.ClusterIP, s.Spec.ClusterIPs, s.Spec.IPFamilies = "10.0.0.1", []string{"10.0.0.1"},
					[]corev1.IPFamily{corev1.IPv4Protocol}
			})}
	},
	"ConfigMap": func(b *testing.B, website *v1beta1.Website, i int) []any {
		config, err := resources.NginxConfig(website, testInstallation)
		if err != nil {
			b.Fatal(err)
		}
		annotations := map[string]string{cached.GenerationAnnotation: "1"}
		return []any{
			received[corev1.ConfigMap](b, resources.ConfigMap(website, config).WithAnnotations(annotations), i, nil),
			received[corev1.ConfigMap](b, resources.AgentConfigMap(website, "").WithAnnotations(annotations), i, nil),
		}
	},
}

func builtDeployment(b *testing.B, website *v1beta1.Website) any {
	b.Helper()
	config, err := resources.NginxConfig(website, testInstallation)
	if err != nil {
		b.Fatal(err)
	}
	deployment, err := resources.Deployment(website, testInstallation, config)
	if err != nil {
		b.Fatal(err)
	}
	return deployment
}
