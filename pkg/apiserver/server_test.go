package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
)

// newServer serves the API over an etcd of its own, to everyone, and returns its
// address.
func newServer(t *testing.T) string {
	t.Helper()
	scheme, codecs, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	etcd, storage := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	t.Cleanup(func() { etcd.Terminate(t) })
	storage.Codec = codecs.LegacyCodec(v1beta1.SchemeGroupVersion)

	config := genericapiserver.NewRecommendedConfig(codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	// Fields are authorized for the user of the request.
	config.Authentication.Authenticator = authenticator.RequestFunc(func(*http.Request) (
		*authenticator.Response, bool, error,
	) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "user"}}, true, nil
	})
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	config.ExternalAddress = "127.0.0.1:443"
	config.LoopbackClientConfig = &rest.Config{}
	namer := openapinamer.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIConfig.Info.Title = "Website"
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "Website"
	config.RESTOptionsGetter = generic.RESTOptions{
		StorageConfig:           storage.ForResource(website.Resource("websites")),
		Decorator:               generic.UndecoratedStorage,
		DeleteCollectionWorkers: 1,
		ResourcePrefix:          website.GroupName + "/websites",
	}
	server, err := (&Config{GenericConfig: config, Scheme: scheme, Codecs: codecs}).New()
	if err != nil {
		t.Fatal(err)
	}
	prepared := server.GenericAPIServer.PrepareRun()
	withdrawSharedPaths(prepared.OpenAPIV3VersionedService)
	t.Cleanup(prepared.Destroy)
	listening := httptest.NewServer(prepared.Handler)
	t.Cleanup(listening.Close)
	return listening.URL
}

// answer is a response to a client.
type answer struct {
	code     int
	warnings []string
	object   map[string]any
}

// field returns a member of the response, by names; nil if missing.
func (a answer) field(names ...string) any {
	var at any = a.object
	for _, name := range names {
		members, _ := at.(map[string]any)
		at = members[name]
	}
	return at
}

func send(t *testing.T, method, url, contentType, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := answer{code: response.StatusCode, warnings: response.Header.Values("Warning")}
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&got.object); err != nil {
		t.Fatalf("%s %s answered %d %s: %v", method, url, response.StatusCode, data, err)
	}
	return got
}

const (
	jsonType  = "application/json"
	mergeType = "application/merge-patch+json"
	applyType = "application/apply-patch+yaml"
)

func path(server, version, rest string) string {
	return fmt.Sprintf("%s/apis/%s/%s/namespaces/default/websites%s", server, website.GroupName, version, rest)
}

// TestServer sends typical requests of clients of both versions over HTTP.
func TestServer(t *testing.T) {
	server := newServer(t)
	const spec = `"spec":{"deploymentName":"kubia-website","gitRepo":"https://example.com/site.git"}`

	t.Run("created through v1alpha1, read as v1beta1", func(t *testing.T) {
		created := send(t, http.MethodPost, path(server, "v1alpha1", ""), jsonType,
			`{"apiVersion":"mycontroller.nevermosby.io/v1alpha1","kind":"Website","metadata":{"name":"kubia"},`+spec+`}`)
		if created.code != http.StatusCreated {
			t.Fatalf("creating answered %d %v", created.code, created.object)
		}
		if want := "mycontroller.nevermosby.io/v1alpha1 Website is deprecated in v0.1+; use " +
			"mycontroller.nevermosby.io/v1beta1 Website"; !slices.ContainsFunc(created.warnings,
			func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("warnings = %q, want %q", created.warnings, want)
		}
		// The status of v1beta1 is pending; the spec has no fields for the annotation.
		if carried := fmt.Sprint(
			created.field("metadata", "annotations", website.AnnotationCarriedFields),
		); !strings.HasPrefix(carried, `{"status":`) {
			t.Errorf("the annotation is %s, want the status alone", carried)
		}
		read := send(t, http.MethodGet, path(server, "v1beta1", "/kubia"), jsonType, "")
		if len(read.warnings) != 0 || read.field("spec", "source", "git", "repository") != "https://example.com/site.git" ||
			read.field("spec", "polling", "periodSeconds") != 60. || read.field("spec", "service", "type") != "NodePort" {
			t.Errorf("read as v1beta1: %v, warnings %q; want the defaults and no warning", read.object, read.warnings)
		}
	})

	t.Run("generated names", func(t *testing.T) {
		created := send(t, http.MethodPost, path(server, "v1beta1", ""), jsonType,
			`{"apiVersion":"mycontroller.nevermosby.io/v1beta1","kind":"Website","metadata":{"generateName":"gen-"},`+
				`"spec":{"source":{"git":{"repository":"https://example.com/site.git"}}}}`)
		if created.code != http.StatusCreated ||
			created.field("spec", "deploymentName") != created.field("metadata", "name") {
			t.Errorf("created %d %v, want a Deployment of the generated name", created.code, created.object)
		}
	})

	t.Run("scale", func(t *testing.T) {
		for _, version := range []string{"v1alpha1", "v1beta1"} {
			scaled := send(t, http.MethodPatch, path(server, version, "/kubia/scale"), mergeType, `{"spec":{"replicas":3}}`)
			if scaled.code != http.StatusOK || scaled.field("kind") != "Scale" ||
				scaled.field("apiVersion") != "autoscaling/v1" || scaled.field("spec", "replicas") != 3. {
				t.Errorf("scaling through %s answered %d %v", version, scaled.code, scaled.object)
			}
			again := send(t, http.MethodGet, path(server, version, "/kubia"), jsonType, "")
			if again.field("spec", "replicas") != 3. {
				t.Errorf("replicas = %v, want 3", again.field("spec", "replicas"))
			}
			put := send(t, http.MethodPut, path(server, version, "/kubia/scale"), jsonType, `{"apiVersion":"autoscaling/v1",`+
				`"kind":"Scale","metadata":{"name":"kubia","namespace":"default"},"spec":{"replicas":1}}`)
			if put.code != http.StatusOK {
				t.Errorf("replacing the scale through %s answered %d %v", version, put.code, put.object)
			}
		}
	})

	t.Run("applied, then written by an old client", func(t *testing.T) {
		applied := send(t, http.MethodPatch, path(server, "v1beta1", "/kubia?fieldManager=team&force=true"), applyType,
			`{"apiVersion":"mycontroller.nevermosby.io/v1beta1","kind":"Website","metadata":{"name":"kubia"},`+
				`"spec":{"source":{"git":{"repository":"https://example.com/site.git"},"path":"public"},`+
				`"serving":{"headers":[{"path":"/","name":"X-A","value":"1"}]}}}`)
		if applied.code != http.StatusOK || applied.field("spec", "source", "path") != "public" {
			t.Fatalf("applying answered %d %v", applied.code, applied.object)
		}
		patched := send(t, http.MethodPatch, path(server, "v1alpha1", "/kubia"), mergeType, `{"spec":{"replicas":4}}`)
		if patched.code != http.StatusOK || patched.field("metadata", "annotations", website.AnnotationCarriedFields) == nil {
			t.Fatalf("patching through v1alpha1 answered %d %v", patched.code, patched.object)
		}
		read := send(t, http.MethodGet, path(server, "v1beta1", "/kubia"), jsonType, "")
		if read.field("spec", "source", "path") != "public" || read.field("spec", "replicas") != 4. ||
			read.field("metadata", "annotations") != nil {
			t.Errorf("after a write through v1alpha1: %v, want the path, 4 replicas and no annotation", read.object)
		}
		damaged := send(t, http.MethodPatch, path(server, "v1alpha1", "/kubia"), mergeType,
			`{"metadata":{"annotations":{"`+website.AnnotationCarriedFields+`":"{"}}}`)
		if damaged.code < 400 || damaged.code >= 500 ||
			!strings.Contains(fmt.Sprint(damaged.field("message")), "must be the fields of v1beta1 as JSON") {
			t.Errorf("a damaged annotation answered %d %v, want it refused", damaged.code, damaged.field("message"))
		}
	})

	t.Run("an annotation written by hand", func(t *testing.T) {
		const byHand = `{"apiVersion":"mycontroller.nevermosby.io/v1alpha1","kind":"Website","metadata":{"name":"by-hand",` +
			`"annotations":{"` + website.AnnotationCarriedFields +
			`":"{\"spec\":{\"polling\":{\"periodSeconds\":300},\"serving\":{\"redirects\":[{\"from\":\"/a\",` +
			`\"to\":\"/b\"}]}}}"}},"spec":{"deploymentName":"by-hand","gitRepo":"https://example.com/site.git"}}`
		for range 2 {
			applied := send(t, http.MethodPatch, path(server, "v1alpha1", "/by-hand?fieldManager=team"), applyType, byHand)
			if applied.code >= 300 || applied.field("metadata", "generation") != 1. {
				t.Fatalf("applying answered %d %v, want generation 1 whenever it is applied", applied.code, applied.object)
			}
		}
		read := send(t, http.MethodGet, path(server, "v1beta1", "/by-hand"), jsonType, "")
		redirects, _ := read.field("spec", "serving", "redirects").([]any)
		if read.field("spec", "polling", "timeoutSeconds") != 120. || len(redirects) != 1 ||
			redirects[0].(map[string]any)["to"] != "/b" || redirects[0].(map[string]any)["statusCode"] != 301. {
			t.Errorf("read as v1beta1: %v, want the defaults for fields that the annotation lacks", read.object)
		}
	})

	t.Run("an annotation with an unknown member", func(t *testing.T) {
		const manifest = `{"apiVersion":"mycontroller.nevermosby.io/v1alpha1","kind":"Website","metadata":{"name":"later",` +
			`"annotations":{"` + website.AnnotationCarriedFields +
			`":"{\"spec\":{\"suspend\":false,\"archive\":{\"secretRef\":{\"name\":\"s\"}}}}"}},` +
			`"spec":{"deploymentName":"later","gitRepo":"https://example.com/site.git"}}`
		const ignored = `metadata.annotations[` + website.AnnotationCarriedFields + `]: unknown field \"spec.archive\"`
		strict := send(t, http.MethodPost, path(server, "v1alpha1", "?fieldValidation=Strict"), jsonType, manifest)
		if strict.code != http.StatusUnprocessableEntity ||
			!strings.Contains(fmt.Sprint(strict.field("message")), `unknown field "spec.archive"`) {
			t.Errorf("strict validation answered %d %v, want it refused", strict.code, strict.field("message"))
		}
		created := send(t, http.MethodPost, path(server, "v1alpha1", ""), jsonType, manifest)
		if created.code != http.StatusCreated ||
			!slices.ContainsFunc(created.warnings, func(w string) bool { return strings.Contains(w, ignored) }) {
			t.Errorf("creating answered %d, warnings %q; want %q", created.code, created.warnings, ignored)
		}
		read := send(t, http.MethodGet, path(server, "v1beta1", "/later"), jsonType, "")
		if read.field("metadata", "annotations") != nil || read.field("spec", "archive") != nil ||
			read.field("spec", "suspend") != false {
			t.Errorf("read as v1beta1: %v, want suspend false, and nothing of the unknown member", read.object)
		}
	})

	t.Run("errors speak the client's version", func(t *testing.T) {
		for version, body := range map[string]string{
			"v1alpha1": `{"spec":{"gitRepo":"-x"}}`,
			"v1beta1":  `{"spec":{"source":{"git":{"repository":"-x"}}}}`,
		} {
			want := map[string]string{"v1alpha1": "spec.gitRepo: Invalid value",
				"v1beta1": "spec.source.git.repository: Invalid value"}[version]
			refused := send(t, http.MethodPatch, path(server, version, "/kubia"), mergeType, body)
			if refused.code != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(refused.field("message")), want) {
				t.Errorf("%s answered %d %v, want %q", version, refused.code, refused.field("message"), want)
			}
		}
	})

	t.Run("selected by field", func(t *testing.T) {
		for query, want := range map[string]int{
			path(server, "v1alpha1",
				"?fieldSelector=spec.gitRepo%3Dhttps://example.com/site.git,spec.deploymentName%3Dkubia-website"): 1,
			path(
				server, "v1beta1", "?fieldSelector=spec.source.git.repository%3Dhttps://example.com/none.git",
			): 0,
		} {
			items, _ := send(t, http.MethodGet, query, jsonType, "").field("items").([]any)
			if len(items) != want {
				t.Errorf("%s selects %d, want %d", query, len(items), want)
			}
		}
		if unknown := send(t, http.MethodGet, path(server, "v1beta1", "?fieldSelector=spec.gitRepo%3Dx"), jsonType,
			""); unknown.code != http.StatusBadRequest {
			t.Errorf("selecting by an unknown field answered %d, want 400", unknown.code)
		}
	})

	t.Run("examples", func(t *testing.T) {
		for version, example := range map[string]string{"v1alpha1": "kubia", "v1beta1": "site"} {
			manifest, err := os.ReadFile(filepath.Join("..", "..", "artifacts", "examples", example+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			created := send(
				t, http.MethodPatch, path(server, version, "/"+example+"?fieldManager=team&force=true&fieldValidation=Strict"),
				applyType, string(manifest),
			)
			if created.code != http.StatusCreated && created.code != http.StatusOK {
				t.Errorf("applying %s.yaml answered %d %v", example, created.code, created.object)
			}
		}
	})

	t.Run("preferred version", func(t *testing.T) {
		group := send(t, http.MethodGet, server+"/apis/"+website.GroupName, jsonType, "")
		if got := group.field("preferredVersion", "version"); got != "v1beta1" {
			t.Errorf("preferred version = %v, want v1beta1", got)
		}
	})

	t.Run("OpenAPI", func(t *testing.T) {
		definitions, _ := send(t, http.MethodGet, server+"/openapi/v2", jsonType, "").field("definitions").(map[string]any)
		for name := range definitions {
			if strings.Contains(name, "/") {
				t.Errorf("definition %q contains a slash", name)
			}
		}
		for _, want := range []string{"io.nevermosby.mycontroller.v1beta1.WebsiteServing",
			"io.k8s.api.autoscaling.v1.Scale"} {
			if definitions[want] == nil {
				t.Errorf("OpenAPI v2 lacks %s", want)
			}
		}

		paths, _ := send(t, http.MethodGet, server+"/openapi/v3", jsonType, "").field("paths").(map[string]any)
		own := []string{"apis/" + website.GroupName, "apis/" + website.GroupName + "/v1alpha1",
			"apis/" + website.GroupName + "/v1beta1"}
		if got := slices.Sorted(maps.Keys(paths)); !slices.Equal(got, own) {
			t.Errorf("OpenAPI v3 has %q, want %q: the aggregator serves the others to every client of the cluster", got, own)
		}

		// The documents are requested as protobuf, as the aggregator and kubectl do.
		client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server})
		if err != nil {
			t.Fatal(err)
		}
		document, err := client.OpenAPISchemaWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var binary []string
		for _, definition := range document.GetDefinitions().GetAdditionalProperties() {
			binary = append(binary, definition.GetName())
		}
		slices.Sort(binary)
		if text := slices.Sorted(maps.Keys(definitions)); !slices.Equal(binary, text) {
			t.Errorf("definitions as protobuf:\n%q\nwant the definitions of the JSON form:\n%q", binary, text)
		}
	})
}

// TestScaleHasNoOtherForm protects the registration that makes one Go type both
// the versioned and the hub form of a Scale.
func TestScaleHasNoOtherForm(t *testing.T) {
	scheme, _, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	for gvk := range scheme.AllKnownTypes() {
		if gvk.Group == "autoscaling" && (gvk.Kind != "Scale" || gvk.Version != "v1" &&
			gvk.Version != runtime.APIVersionInternal) {
			t.Errorf("%s is registered, want Scale of v1 alone", gvk)
		}
	}
}
