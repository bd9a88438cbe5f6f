package kustomize

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestNameReferences fails for a new reference to a Secret or ConfigMap that does not follow the hash of a
// generated name.
func TestNameReferences(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "artifacts", "clients", "kustomize", "website.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var configuration struct {
		NameReference []struct {
			Kind       string
			FieldSpecs []struct{ Path, Kind string }
		}
	}
	if err := yaml.Unmarshal(data, &configuration); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, reference := range configuration.NameReference {
		for _, field := range reference.FieldSpecs {
			if field.Kind == "Website" {
				got[field.Path] = reference.Kind
			}
		}
	}
	want := map[string]string{}
	references(reflect.TypeFor[v1beta1.WebsiteSpec](), "spec", want)
	if !maps.Equal(got, want) {
		t.Errorf("the name references are %v, want %v", got, want)
	}
}

// references adds the fields below a type that name a Secret or ConfigMap, with the kind.
func references(typ reflect.Type, path string, found map[string]string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[v1beta1.SecretReference]():
		found[path+"/name"] = "Secret"
	case typ == reflect.TypeFor[v1beta1.CAReference]():
		found[path+"/secretName"], found[path+"/configMapName"] = "Secret", "ConfigMap"
	case typ.Kind() == reflect.Struct && typ.PkgPath() == reflect.TypeFor[v1beta1.Website]().PkgPath():
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			references(field.Type, path+"/"+name, found)
		}
	}
}
