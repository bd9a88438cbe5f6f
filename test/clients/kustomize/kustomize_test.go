package kustomize

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	websiteopenapi "github.com/kubesites/website-apiserver/pkg/generated/openapi"
)

// TestKustomize builds kustomizations of the examples with the shipped components.
func TestKustomize(t *testing.T) {
	tests := map[string]struct {
		kustomization string
		files         map[string]string
		// want has fields of built objects, by "Kind/name: path".
		want map[string]string
	}{
		"a generated Secret": {
			kustomization: `
resources: [private.yaml]
secretGenerator:
- name: private-site-key
  type: kubernetes.io/ssh-auth
  literals: [ssh-privatekey=key, known_hosts=hosts]
`,
			want: map[string]string{
				"Website/private: spec.source.git.secretRef.name": "private-site-key-5k7m28d8m4",
				"Secret/private-site-key-5k7m28d8m4: type":        "kubernetes.io/ssh-auth",
			},
		},
		"replicas": {
			kustomization: `
resources: [private.yaml, kubia.yaml]
replicas:
- {name: private, count: 4}
- {name: kubia, count: 3}
`,
			want: map[string]string{
				"Website/private: spec.replicas": "4",
				"Website/kubia: spec.replicas":   "3",
			},
		},
		"a name prefix": {
			kustomization: `
resources: [site.yaml, kubia.yaml, autoscaled.yaml]
namePrefix: staging-
nameSuffix: "-2"
`,
			want: map[string]string{
				"Website/staging-site-2: spec.deploymentName":                            "staging-site-website-2",
				"Website/staging-kubia-2: spec.deploymentName":                           "staging-kubia-website-2",
				"Website/staging-autoscaled-2: spec.deploymentName":                      "",
				"HorizontalPodAutoscaler/staging-autoscaled-2: spec.scaleTargetRef.name": "staging-autoscaled-2",
				"HorizontalPodAutoscaler/staging-autoscaled-2: spec.scaleTargetRef.kind": "Website",
				"HorizontalPodAutoscaler/staging-autoscaled-2: spec.maxReplicas":         "10",
			},
		},
		"a patch of one header": {
			kustomization: `
resources: [single-page.yaml]
patches:
- patch: |
    apiVersion: mycontroller.nevermosby.io/v1beta1
    kind: Website
    metadata: {name: single-page}
    spec:
      serving:
        headers:
        - {path: /assets/*, name: Cache-Control, value: public}
        - {path: /*, name: Content-Security-Policy, $patch: delete}
        - {path: /*, name: X-Content-Type-Options, value: nosniff}
`,
			want: map[string]string{
				"Website/single-page: spec.serving.headers": "/* Cache-Control: no-cache\n" +
					"/* X-Content-Type-Options: nosniff\n" +
					"/assets/* Cache-Control: public",
			},
		},
		"a patch of a container": {
			kustomization: `
resources: [single-page.yaml, deployment.yaml]
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: other}
    spec: {template: {spec: {containers: [{name: a, image: patched}]}}}
`,
			files: map[string]string{"deployment.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: other}
spec: {template: {spec: {containers: [{name: a, image: a}, {name: b, image: b}]}}}
`},
			want: map[string]string{
				"Deployment/other: spec.template.spec.containers": "a patched\nb b",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			built := build(t, test.kustomization, test.files)
			for field, want := range test.want {
				object, path, _ := strings.Cut(field, ": ")
				if _, found := built[object]; !found {
					t.Errorf("there is no %s, but %v", object, slices.Sorted(maps.Keys(built)))
					continue
				}
				value, _, err := unstructured.NestedFieldNoCopy(built[object], strings.Split(path, ".")...)
				if err != nil {
					t.Fatal(err)
				}
				if got := text(value); got != want {
					t.Errorf("%s = %q, want %q", field, got, want)
				}
			}
		})
	}
}

// build returns the objects of a kustomization of the examples and files, with the
// shipped components, by kind and name.
func build(t *testing.T, kustomization string, files map[string]string) map[string]map[string]any {
	t.Helper()
	// kustomize keeps the schema of the first kustomization of a process.
	openapi.ResetOpenAPI()
	dir := t.TempDir()
	app := filepath.Join(dir, "app")
	for to, from := range map[string]string{app: "examples", filepath.Join(dir, "kustomize"): "clients/kustomize"} {
		if err := os.CopyFS(to, os.DirFS(filepath.Join("..", "..", "..", "artifacts", from))); err != nil {
			t.Fatal(err)
		}
	}
	files = maps.Clone(files)
	if files == nil {
		files = map[string]string{}
	}
	files["kustomization.yaml"] = kustomization + "components: [../kustomize, ../kustomize/headers]\n"
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(app, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), app)
	if err != nil {
		t.Fatalf("building %s: %v", kustomization, err)
	}
	built := map[string]map[string]any{}
	for _, resource := range resources.Resources() {
		object, err := resource.Map()
		if err != nil {
			t.Fatal(err)
		}
		built[resource.GetKind()+"/"+resource.GetName()] = object
	}
	return built
}

// text returns a field on one line, and a list of objects sorted.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case []any:
		var lines []string
		for _, item := range value {
			object := item.(map[string]any)
			if header, found := object["value"]; found {
				lines = append(lines, fmt.Sprintf("%v %v: %v", object["path"], object["name"], header))
			} else {
				lines = append(lines, fmt.Sprintf("%v %v", object["name"], object["image"]))
			}
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	default:
		return fmt.Sprint(value)
	}
}

// TestKustomizeKeysAreServed compares the keys in the shipped schema with
// the API's.
func TestKustomizeKeysAreServed(t *testing.T) {
	data, err := os.ReadFile("../../../artifacts/clients/kustomize/headers/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var shipped spec.Swagger
	if err := yaml.Unmarshal(data, &shipped); err != nil {
		t.Fatal(err)
	}
	keys := func(schema spec.Schema) any { return schema.Extensions["x-kubernetes-list-map-keys"] }
	website := shipped.Definitions["io.nevermosby.mycontroller.v1beta1.Website"].Properties["spec"]
	headers := website.Properties["serving"].Properties["headers"]
	served := websiteopenapi.GetOpenAPIDefinitions(
		spec.MustCreateRef,
	)["io.nevermosby.mycontroller.v1beta1.WebsiteServing"].Schema.Properties["headers"]
	if got, want := fmt.Sprint(keys(headers)), fmt.Sprint(keys(served)); got != want || got == "<nil>" {
		t.Errorf("keys of spec.serving.headers = %s, want %s", got, want)
	}
}
