package encoding

import (
	"fmt"
	"io"
	"path"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// newServed returns the i-th Website, with most fields and a status, as the store has it.
func newServed(i int) website.Website {
	at := metav1.NewTime(time.Unix(1700000000, 0).UTC())
	condition := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Ready",
			Message: "all pods serve the current commit", ObservedGeneration: 1, LastTransitionTime: at}
	}
	memory := func(amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(amount)}
	}
	managed := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: v1beta1.SchemeGroupVersion.String(), Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
		}
	}
	return website.Website{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("site-%d", i), Namespace: "default", UID: types.UID(fmt.Sprintf("2f0b1c9e-8b5f-4c77-9c3f-%012d",
				i)), ResourceVersion: fmt.Sprint(1000 + i), Generation: 1, CreationTimestamp: at,
			ManagedFields: []metav1.ManagedFieldsEntry{
				managed("kubectl", "", `{"f:spec":{"f:deploymentName":{},"f:replicas":{},"f:resources":{".":{},`+
					`"f:server":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},`+
					`"f:sync":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}},`+
					`"f:scheduling":{".":{},"f:nodeSelector":{}},"f:service":{".":{},"f:type":{}},"f:serving":{".":{},`+
					`"f:fallback":{},"f:headers":{".":{},"k:{\"name\":\"X-Content-Type-Options\",\"path\":\"/\"}":{".":{},`+
					`"f:name":{},"f:path":{},"f:value":{}}},"f:index":{},"f:notFoundPath":{},"f:redirects":{".":{},`+
					`"k:{\"from\":\"/home\"}":{".":{},"f:code":{},"f:from":{},"f:to":{}}}},"f:source":{".":{},"f:git":{".":{},`+
					`"f:credentialScope":{},"f:ref":{".":{},"f:branch":{}},"f:repository":{},"f:submodules":{}}},"f:sync":{".":{},`+
					`"f:periodSeconds":{},"f:timeoutSeconds":{}}}}`),
				managed("website-controller", "status", `{"f:status":{"f:availableReplicas":{},"f:commit":{},`+
					`"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},`+
					`"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Progressing\"}":{".":{},`+
					`"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}},`+
					`"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},`+
					`"f:reason":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Synced\"}":{".":{},"f:lastTransitionTime":{},`+
					`"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:nodePort":{},`+
					`"f:observedGeneration":{},"f:readyReplicas":{},"f:replicas":{},"f:selector":{},"f:updatedReplicas":{},`+
					`"f:urls":{}}}`),
			},
		},
		Spec: v1beta1.WebsiteSpec{
			DeploymentName: "site-website", Replicas: ptr.To[int32](2),
			Source: v1beta1.WebsiteSource{
				Git: &v1beta1.GitSource{Repository: "https://git.example.com/site.git", Ref: &v1beta1.GitReference{Branch: "main"},
					Submodules: v1beta1.SubmodulesNone, CredentialScope: v1beta1.CredentialScopeRepository},
			},
			Polling: v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 30, TimeoutSeconds: 60},
			Serving: v1beta1.WebsiteServing{Index: "index.html", NotFoundPath: "/404.html", Fallback: v1beta1.FallbackNone,
				Charset:   "UTF-8",
				Redirects: []v1beta1.Redirect{{From: "/home", To: "/", StatusCode: 302}},
				Headers:   []v1beta1.ResponseHeader{{Path: "/", Name: "X-Content-Type-Options", Value: "nosniff"}}},
			Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort},
			Resources: v1beta1.WebsiteResources{
				Server: corev1.ResourceRequirements{Requests: memory("16Mi"), Limits: memory("64Mi")},
				Sync:   corev1.ResourceRequirements{Requests: memory("64Mi"), Limits: memory("256Mi")},
			},
			Scheduling: v1beta1.WebsiteScheduling{NodeSelector: map[string]string{"kubernetes.io/os": "linux"}},
		},
		Status: v1beta1.WebsiteStatus{
			ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
			Selector: "app=website-nginx", Commit: fmt.Sprintf("%040x", i), NodePort: 30080,
			URLs: []string{"http://192.0.2.1:30080/"}, Conditions: []metav1.Condition{condition("Ready"), condition("Available"),
				condition("Progressing"), condition("Synced")},
		},
	}
}

func newServedList(n int) *website.WebsiteList {
	list := &website.WebsiteList{ListMeta: metav1.ListMeta{ResourceVersion: "5000"}, Items: make([]website.Website, n)}
	for i := range list.Items {
		list.Items[i] = newServed(i)
	}
	return list
}

// BenchmarkEncode compares with the encoder of k8s.io/apiserver, for a list of 1,000, also
// while the cache is full, and a single Website.
func BenchmarkEncode(b *testing.B) {
	stock, ours := newSerializers(b)
	full := newFullSerializer(stock)
	single, list := newServed(0), newServedList(1000)
	for name, object := range map[string]runtime.Object{"list": list, "single": &single} {
		for _, version := range []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion} {
			for server, codecs := range map[string]runtime.NegotiatedSerializer{"apiserver": stock, "encoding": ours,
				"full": full} {
				for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
					b.Run(path.Join(name, version.Version, path.Base(mediaType), server), func(b *testing.B) {
						encoder := encoderFor(b, codecs, mediaType, version)
						b.ReportAllocs()
						for b.Loop() {
							if err := encoder.Encode(object, io.Discard); err != nil {
								b.Fatal(err)
							}
						}
					})
				}
			}
		}
	}
}
