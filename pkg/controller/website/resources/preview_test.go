package resources

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func withPreviews(w *v1beta1.Website) {
	w.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"feature/*"}, MaxCount: 5,
		Domain: "previews.example.com"}
}

// previewSpec is the spec of a preview as the API server stores it.
func previewSpec(t *testing.T, website *v1beta1.Website, branch, domain string) v1beta1.WebsiteSpec {
	t.Helper()
	applied, err := Preview(website, branch, domain)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(applied.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var spec v1beta1.WebsiteSpec
	if err := json.Unmarshal(data, &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestPreview(t *testing.T) {
	website := newWebsite(withPreviews, func(w *v1beta1.Website) {
		w.Spec.Replicas, w.Spec.Pin = ptr.To[int32](3), pinTo(pinnedCommit)
		w.Spec.Source.Git.SecretRef, w.Spec.Source.Path = &v1beta1.SecretReference{Name: "key"}, "public"
		w.Spec.Hosts = []v1beta1.WebsiteHost{{Name: "a.example.com", Role: v1beta1.HostRoleCanonical},
			{Name: "b.example.com", Role: v1beta1.HostRoleRedirect}}
		withCertificate(w)
		w.Spec.Routing.IngressClassName = "public"
		w.Spec.Service = v1beta1.WebsiteService{Type: v1beta1.ServiceTypeLoadBalancer, LoadBalancerClass: "x",
			Annotations: map[string]string{"a": "b"}}
		w.Spec.Access.BasicAuth = &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: "users"}}
		w.Spec.Scheduling.Tolerations = []corev1.Toleration{{Key: "gpu", TolerationSeconds: ptr.To[int64](1 << 60)}}
		w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/*", Name: "A", Value: "b"},
			{Path: "/docs", Name: "x-robots-tag", Value: "all"}}
	})
	want := *website.Spec.DeepCopy()
	want.DeploymentName, want.Replicas, want.Pin, want.Previews = "kubia-next", ptr.To[int32](1), nil, nil
	want.Source.Git.Ref = &v1beta1.GitReference{Branch: "next"}
	want.Hosts = hostsOf("next.kubia.previews.example.com")
	want.Service = v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP}
	want.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/*", Name: "A", Value: "b"},
		{Path: "/*", Name: "X-Robots-Tag", Value: "noindex"}}
	if got := previewSpec(t, website, "next", "previews.example.com"); !reflect.DeepEqual(got, want) {
		t.Errorf("the spec is\n%+v, want\n%+v", got, want)
	}
	website.Spec.Previews.Access.BasicAuth = &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: "reviewers"}}
	got := previewSpec(t, website, "next", "")
	if got.Access.BasicAuth.SecretRef.Name != "reviewers" || got.Hosts != nil || got.TLS != nil ||
		got.Routing.IngressClassName != "" {
		t.Errorf("without a domain the spec is %+v", got)
	}
	if got := previewSpec(t, newWebsite(withPreviews), "next", "").Service.Type; got != v1beta1.ServiceTypeNodePort {
		t.Errorf("without a domain the Service is of type %s, want that of the Website", got)
	}
	website.Spec.Serving.Headers = make([]v1beta1.ResponseHeader, maxHeaders)
	if _, err := Preview(website, "next", ""); err == nil || !strings.Contains(err.Error(), "spec.serving.headers") {
		t.Errorf("without room for a header: %v", err)
	}
}

// TestWhatAgentsList: without previews, no ConfigMap is written because of them.
func TestWhatAgentsList(t *testing.T) {
	if WantsAgentConfigMap(newWebsite()) {
		t.Error("without previews the agents read a ConfigMap")
	}
	preview := newWebsite(withPreviews, func(w *v1beta1.Website) {
		w.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: Kind,
			Name: "shop", Controller: ptr.To(true)}}
	})
	if WantsAgentConfigMap(preview) {
		t.Error("of a preview the agents read a ConfigMap")
	}
	branch := func(w *v1beta1.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "main"} }
	for name, test := range map[string]struct {
		website *v1beta1.Website
		want    requests.Previews
	}{
		"following HEAD":     {newWebsite(withPreviews), requests.Previews{Branches: []string{"feature/*"}, Head: true}},
		"following a branch": {newWebsite(withPreviews, branch), requests.Previews{Branches: []string{"feature/*"}}},
	} {
		got, err := requests.ParsePreviews([]byte(AgentConfigMap(test.website, "").Data[requests.PreviewsFile]))
		if err != nil || !reflect.DeepEqual(got, test.want) ||
			got.ID(test.website.Spec.Source.Git.Repository) != BranchesID(test.website) {
			t.Errorf("%s: the agents read %+v, %v, want %+v", name, got, err, test.want)
		}
	}
	if a, b := BranchesID(newWebsite(withPreviews)), BranchesID(newWebsite(withPreviews, branch)); a == b {
		t.Error("what is listed with and without HEAD has one ID")
	}
}
