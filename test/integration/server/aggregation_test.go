package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

func TestAPIServiceIsAvailableAndTrustsOurCAOnly(t *testing.T) {
	t.Parallel()
	config := framework.Cluster.AdminConfig()
	client, err := aggregator.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			service, err := client.ApiregistrationV1().APIServices().Get(t.Context(), version+"."+v1alpha1.GroupName,
				metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			checkAPIService(t, service)
		})
	}
}

func checkAPIService(t *testing.T, service *apiregistrationv1.APIService) {
	t.Helper()
	if service.Spec.InsecureSkipTLSVerify {
		t.Error("the aggregator does not verify the server's certificate")
	}
	if len(service.Spec.CABundle) == 0 {
		t.Error("the APIService has no caBundle")
	}
	available := slices.ContainsFunc(service.Status.Conditions, func(c apiregistrationv1.APIServiceCondition) bool {
		return c.Type == apiregistrationv1.Available && c.Status == apiregistrationv1.ConditionTrue
	})
	if !available {
		t.Errorf("conditions = %+v, want Available", service.Status.Conditions)
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	for _, version := range []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion} {
		t.Run(version.Version, func(t *testing.T) { checkDiscovery(t, version) })
	}
}

func checkDiscovery(t *testing.T, version schema.GroupVersion) {
	t.Helper()
	resources, err := framework.Admin(t).Kubernetes.Discovery().ServerResourcesForGroupVersion(version.String())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]metav1.APIResource{}
	for _, r := range resources.APIResources {
		found[r.Name] = r
	}

	websites, ok := found["websites"]
	if !ok {
		t.Fatalf("resources = %v, want websites", resources.APIResources)
	}
	if websites.Kind != "Website" || websites.SingularName != "website" || !websites.Namespaced {
		t.Errorf("websites = %+v, want a namespaced Website, singular website", websites)
	}
	if !slices.Equal(websites.ShortNames, []string{"ws"}) || len(websites.Categories) != 0 {
		t.Errorf("short names %v, categories %v; want [ws] and none", websites.ShortNames, websites.Categories)
	}
	for _, verb := range []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"} {
		if !slices.Contains(websites.Verbs, verb) {
			t.Errorf("websites lack the verb %s", verb)
		}
	}
	for _, name := range []string{"websites/status", "websites/scale"} {
		if subresource := found[name]; !slices.Equal(subresource.Verbs, metav1.Verbs{"get", "patch", "update"}) {
			t.Errorf("verbs of %s = %v, want get, patch, update", name, subresource.Verbs)
		}
	}
	if scale := found["websites/scale"]; scale.Group != "autoscaling" || scale.Version != "v1" || scale.Kind != "Scale" {
		t.Errorf("websites/scale = %+v, want a Scale of autoscaling/v1", scale)
	}
}

// TestOpenAPI checks the documents of the whole cluster: one invalid definition would break
// explain, Helm and others for every type in it.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	framework.WaitForOpenAPI(t)
	discovery := framework.Admin(t).Kubernetes.Discovery()

	// The document is fetched as protobuf, the encoding that breaks first.
	v2, err := discovery.OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, definition := range v2.GetDefinitions().GetAdditionalProperties() {
		if strings.Contains(definition.GetName(), "/") {
			t.Errorf("definition %q contains a slash, which breaks references to it", definition.GetName())
		}
		if strings.HasPrefix(definition.GetName(), "io.nevermosby.mycontroller.") {
			ours = append(ours, definition.GetName())
		}
	}
	slices.Sort(ours)
	want := []string{
		"io.nevermosby.mycontroller.v1alpha1.Website",
		"io.nevermosby.mycontroller.v1alpha1.WebsiteList",
		"io.nevermosby.mycontroller.v1alpha1.WebsiteSpec",
		"io.nevermosby.mycontroller.v1alpha1.WebsiteStatus",
		"io.nevermosby.mycontroller.v1beta1.BasicAuth",
		"io.nevermosby.mycontroller.v1beta1.CAReference",
		"io.nevermosby.mycontroller.v1beta1.ContentType",
		"io.nevermosby.mycontroller.v1beta1.GitReference",
		"io.nevermosby.mycontroller.v1beta1.GitSource",
		"io.nevermosby.mycontroller.v1beta1.IssuerReference",
		"io.nevermosby.mycontroller.v1beta1.ParentReference",
		"io.nevermosby.mycontroller.v1beta1.Redirect",
		"io.nevermosby.mycontroller.v1beta1.ResponseHeader",
		"io.nevermosby.mycontroller.v1beta1.SecretReference",
		"io.nevermosby.mycontroller.v1beta1.Website",
		"io.nevermosby.mycontroller.v1beta1.WebsiteAccess",
		"io.nevermosby.mycontroller.v1beta1.WebsiteHost",
		"io.nevermosby.mycontroller.v1beta1.WebsiteHostStatus",
		"io.nevermosby.mycontroller.v1beta1.WebsiteList",
		"io.nevermosby.mycontroller.v1beta1.WebsitePin",
		"io.nevermosby.mycontroller.v1beta1.WebsitePolling",
		"io.nevermosby.mycontroller.v1beta1.WebsitePreviewStatus",
		"io.nevermosby.mycontroller.v1beta1.WebsitePreviews",
		"io.nevermosby.mycontroller.v1beta1.WebsiteRelease",
		"io.nevermosby.mycontroller.v1beta1.WebsiteResources",
		"io.nevermosby.mycontroller.v1beta1.WebsiteRollback",
		"io.nevermosby.mycontroller.v1beta1.WebsiteRouting",
		"io.nevermosby.mycontroller.v1beta1.WebsiteScheduling",
		"io.nevermosby.mycontroller.v1beta1.WebsiteService",
		"io.nevermosby.mycontroller.v1beta1.WebsiteServing",
		"io.nevermosby.mycontroller.v1beta1.WebsiteSource",
		"io.nevermosby.mycontroller.v1beta1.WebsiteSpec",
		"io.nevermosby.mycontroller.v1beta1.WebsiteStatus",
		"io.nevermosby.mycontroller.v1beta1.WebsiteStorage",
		"io.nevermosby.mycontroller.v1beta1.WebsiteSyncCompletion",
		"io.nevermosby.mycontroller.v1beta1.WebsiteSyncRecord",
		"io.nevermosby.mycontroller.v1beta1.WebsiteSyncRequest",
		"io.nevermosby.mycontroller.v1beta1.WebsiteSyncStatus",
		"io.nevermosby.mycontroller.v1beta1.WebsiteTLS",
	}
	if !slices.Equal(ours, want) {
		t.Errorf("definitions of v2 = %v, want %v", ours, want)
	}

	for _, version := range []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion} {
		v3, err := discovery.RESTClient().Get().AbsPath("/openapi/v3/apis/" + version.String()).Do(t.Context()).Raw()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(v3), `"io.nevermosby.mycontroller.`+version.Version+`.WebsiteSpec"`) {
			t.Errorf("OpenAPI v3 of %s lacks WebsiteSpec", version)
		}
	}
}

// TestSharedOpenAPI: kube-apiserver serves the documents that all servers share, and every document
// of the index is served.
func TestSharedOpenAPI(t *testing.T) {
	t.Parallel()
	framework.WaitForOpenAPI(t)
	client := framework.Admin(t).Kubernetes.Discovery().RESTClient()
	code, body, err := framework.SecureGet(t.Context(), t, framework.Cluster.WebsiteAPIServerURL()+"/openapi/v3", true)
	if err != nil || code != http.StatusOK {
		t.Fatalf("GET /openapi/v3 = %d %s, %v", code, body, err)
	}
	for _, shared := range []string{"apis", "version", "api", "openid/v1/jwks"} {
		if strings.Contains(body, strconv.Quote(shared)) {
			t.Errorf("website-apiserver has OpenAPI v3 of %s: %s", shared, body)
		}
	}
	index, err := client.Get().AbsPath("/openapi/v3").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var documents struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(index, &documents); err != nil {
		t.Fatal(err)
	}
	for _, shared := range []string{"apis", "version"} {
		var document struct {
			Info struct {
				Title string `json:"title"`
			} `json:"info"`
		}
		// The URL contains the hash of the document, so another server's URL does not match.
		data, err := client.Get().RequestURI(documents.Paths[shared].ServerRelativeURL).Do(t.Context()).Raw()
		if err == nil {
			err = json.Unmarshal(data, &document)
		}
		if err != nil || document.Info.Title != "Kubernetes" {
			t.Errorf("OpenAPI v3 of %s at %q has the title %q, %v, want Kubernetes", shared,
				documents.Paths[shared].ServerRelativeURL, document.Info.Title, err)
		}
	}
}

// TestDirectAccess sends requests directly to website-apiserver, without the aggregator.
func TestDirectAccess(t *testing.T) {
	t.Parallel()
	websites := fmt.Sprintf("/apis/%s/websites", v1alpha1.SchemeGroupVersion)

	tests := map[string]struct {
		path     string
		wantCode int
		wantBody string
	}{
		"websites": {path: websites, wantCode: http.StatusForbidden,
			wantBody: `User \"system:anonymous\" cannot list resource \"websites\"`},
		"metrics": {path: "/metrics", wantCode: http.StatusForbidden,
			wantBody: `User \"system:anonymous\" cannot get path \"/metrics\"`},
		"discovery": {path: "/apis", wantCode: http.StatusForbidden, wantBody: "system:anonymous"},
		"liveness":  {path: "/livez", wantCode: http.StatusOK, wantBody: "ok"},
		"readiness": {path: "/readyz", wantCode: http.StatusOK, wantBody: "ok"},
		// Ready servers have read the CAs of their clients.
		"readiness of authentication": {path: "/readyz?verbose", wantCode: http.StatusOK, wantBody: "[+]authentication ok"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, body, err := framework.SecureGet(t.Context(), t, framework.Cluster.WebsiteAPIServerURL()+test.path, false)
			if err != nil {
				t.Fatal(err)
			}
			if code != test.wantCode || !strings.Contains(body, test.wantBody) {
				t.Errorf("GET %s without credentials = %d %s, want %d and %q", test.path, code, body, test.wantCode, test.wantBody)
			}
		})
	}

	t.Run("a client certificate of the cluster", func(t *testing.T) {
		code, body, err := framework.SecureGet(t.Context(), t, framework.Cluster.WebsiteAPIServerURL()+websites, true)
		if err != nil || code != http.StatusOK {
			t.Errorf("GET %s as admin = %d %s (%v), want 200", websites, code, body, err)
		}
	})
}
