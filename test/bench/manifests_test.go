package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// TestDefinitionHasAllFields compares the schema of the definition with the schema of v1beta1: a
// definition with fewer fields would be a faster one.
func TestDefinitionHasAllFields(t *testing.T) {
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(WebsiteCRD, &crd); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	fields(&crd.Spec.Versions[0].Schema.OpenAPIV3Schema, nil, "", &got)
	ref := func(name string) spec.Ref { return spec.MustCreateRef(name) }
	definitions := openapi.GetOpenAPIDefinitions(ref)
	website := definitions[v1beta1.Website{}.OpenAPIModelName()]
	fields(&website.Schema, definitions, "", &want)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("fields of the definition:\n%s\nfields of v1beta1:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// fields appends the paths of all fields of a schema, except fields of metadata, quantities
// and times.
func fields(schema *spec.Schema, definitions map[string]common.OpenAPIDefinition, path string, paths *[]string) {
	if name := schema.Ref.String(); name != "" {
		definition := definitions[name]
		schema = &definition.Schema
	}
	for _, one := range schema.AllOf {
		fields(&one, definitions, path, paths)
	}
	if schema.Items != nil {
		fields(schema.Items.Schema, definitions, path+"[]", paths)
	}
	for name, property := range schema.Properties {
		child := path + "." + name
		*paths = append(*paths, child)
		if child != ".metadata" {
			fields(&property, definitions, child, paths)
		}
	}
}

func TestManifestsAsProtobuf(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "artifacts", "examples", "site.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := exampleWebsite(data)
	if err != nil {
		t.Fatal(err)
	}
	configMap, err := configMapManifest(example, padding{created: 100, reported: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []manifest{websiteManifest(v1beta1.SchemeGroupVersion.String(), example),
		alphaManifest(object{"note": "x"}, example), configMap} {
		o := m.build("site-1")
		encoded, err := m.encode(o, measure.Protobuf)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(encoded, []byte("k8s\x00")) || !bytes.Contains(encoded, []byte(m.apiVersion)) ||
			!bytes.Contains(encoded, []byte("site-1")) {
			t.Errorf("%s: got %q", m.apiVersion, encoded)
		}
		// Nothing of the manifest is lost on the way.
		typed := m.typed()
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(typed); err != nil {
			t.Errorf("%s: %v", m.apiVersion, err)
		}
		if w, ok := typed.(*v1alpha1.Website); ok && w.Spec.GitRepo == "" {
			t.Errorf("%s has no repository", data)
		}
	}
	if example["deploymentName"] == "site-1" {
		t.Error("building an object changed the example")
	}
}
