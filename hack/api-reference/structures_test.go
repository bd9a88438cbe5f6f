package main

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
)

func definitions() map[string]common.OpenAPIDefinition {
	return openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(name) })
}

func TestStructures(t *testing.T) {
	found, err := structures(reflect.TypeFor[v1alpha1.Website](), definitions())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range found {
		names = append(names, s.Name)
		if s.Description == "" {
			t.Errorf("%s has no description", s.Name)
		}
	}
	if want := []string{"Website", "WebsiteSpec", "WebsiteStatus"}; !slices.Equal(names, want) {
		t.Fatalf("types = %v, want %v", names, want)
	}
	var fields []apiField
	for _, field := range found[1].Fields {
		if field.Description == "" {
			t.Errorf("%s has no description", field.Name)
		}
		field.Description = ""
		fields = append(fields, field)
	}
	want := []apiField{{Name: "gitRepo", Type: "string", Required: true},
		{Name: "deploymentName", Type: "string", Required: true}, {Name: "replicas", Type: "integer"}}
	if !slices.Equal(fields, want) {
		t.Errorf("fields of the spec = %+v, want %+v in the order of the Go type", fields, want)
	}
	if spec := found[0].Fields[1]; spec.Type != "[WebsiteSpec](#v1alpha1-websitespec)" {
		t.Errorf("type of spec = %s, want a link", spec.Type)
	}
}

func TestTypeNames(t *testing.T) {
	root := reflect.TypeFor[v1beta1.Website]()
	tests := map[reflect.Type]string{
		reflect.TypeFor[*int32]():                "integer",
		reflect.TypeFor[bool]():                  "boolean",
		reflect.TypeFor[v1beta1.ServiceType]():   "string",
		reflect.TypeFor[map[string]string]():     "map of string to string",
		reflect.TypeFor[[]v1beta1.Redirect]():    "list of [Redirect](#v1beta1-redirect)",
		reflect.TypeFor[*v1beta1.GitReference](): "[GitReference](#v1beta1-gitreference)",
		reflect.TypeFor[v1alpha1.WebsiteSpec]():  "WebsiteSpec",
	}
	for typ, want := range tests {
		if got := typeName(typ, root); got != want {
			t.Errorf("%s is called %s, want %s", typ, got, want)
		}
	}
}

// TestWhatIsNotGenerated: a type without a definition is an error, not a gap in
// the reference.
func TestWhatIsNotGenerated(t *testing.T) {
	if _, err := structures(reflect.TypeFor[apiField](), definitions()); err == nil {
		t.Error("a type without a name in OpenAPI was described")
	}
	if _, err := structures(reflect.TypeFor[v1beta1.Website](), nil); err == nil {
		t.Error("a type without a definition was described")
	}
}
