package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// newServedWebsite returns the i-th Website in the form in which the store returns a served site.
func newServedWebsite(b *testing.B, i int) *website.Website {
	b.Helper()
	transition := metav1.NewTime(time.Unix(1700000000+int64(i), 0))
	condition := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Ready",
			Message: "all pods serve the current commit", ObservedGeneration: 1, LastTransitionTime: transition}
	}
	beta := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("site-", i), Namespace: "default",
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubectl", Operation: "Update", APIVersion: v1beta1.SchemeGroupVersion.String(), FieldsType: "FieldsV1",
					Time: &transition,
					FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:deploymentName":{},"f:replicas":{},"f:source":{".":{},` +
						`"f:git":{".":{},"f:credentialScope":{},"f:ref":{".":{},"f:branch":{}},"f:repository":{},"f:submodules":{}}},` +
						`"f:sync":{".":{},"f:periodSeconds":{},"f:timeoutSeconds":{}}}}`)},
				{Manager: "website-controller", Operation: "Update", APIVersion: v1beta1.SchemeGroupVersion.String(),
					FieldsType: "FieldsV1", Time: &transition, Subresource: "status",
					FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:availableReplicas":{},"f:commit":{},"f:conditions":{".":{},` +
						`"k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}},"f:urls":{}}}`)},
			}},
		Spec: v1beta1.WebsiteSpec{
			DeploymentName: fmt.Sprint("site-", i), Replicas: ptr.To[int32](2),
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://git.example.com/site.git",
				Ref: &v1beta1.GitReference{Branch: "main"}}},
			Polling: v1beta1.WebsitePolling{PeriodSeconds: 30},
			Serving: v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{{From: "/home", To: "/", StatusCode: 302}}},
		},
		Status: v1beta1.WebsiteStatus{
			ObservedGeneration: 1, Replicas: 2, ReadyReplicas: 2, AvailableReplicas: 2, Selector: "app=website-nginx",
			Commit: fmt.Sprintf("%040x", i), NodePort: 30080,
			URLs: []string{"http://192.0.2.1:30080/"}, Conditions: []metav1.Condition{condition("Ready"), condition("Available"),
				condition("Progressing"), condition("Synced")},
		},
	}
	v1beta1.SetObjectDefaults_Website(beta)
	stored := &website.Website{}
	if err := website.Convert_v1beta1_Website_To_website_Website(beta, stored, nil); err != nil {
		b.Fatal(err)
	}
	return stored
}

// BenchmarkList converts and encodes as a list does. It shows the cost of the
// conversion to v1alpha1.
func BenchmarkList(b *testing.B) {
	stored := make([]*website.Website, 1000)
	for i := range stored {
		stored[i] = newServedWebsite(b, i)
	}
	encode := func(b *testing.B, convert func(*website.Website) (any, error)) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			converted, err := convert(stored[i%len(stored)])
			if err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(converted); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("v1beta1", func(b *testing.B) {
		encode(b, func(w *website.Website) (any, error) {
			out := &v1beta1.Website{}
			return out, website.Convert_website_Website_To_v1beta1_Website(w, out, nil)
		})
	})
	b.Run("v1alpha1", func(b *testing.B) {
		encode(b, func(w *website.Website) (any, error) {
			out := &v1alpha1.Website{}
			return out, v1alpha1.Convert_website_Website_To_v1alpha1_Website(w, out, nil)
		})
	})
	b.Run("conversion only", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := v1alpha1.Convert_website_Website_To_v1alpha1_Website(stored[i%len(stored)], &v1alpha1.Website{},
				nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
