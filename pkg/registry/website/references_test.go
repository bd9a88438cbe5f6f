package website

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestReferencesOfEveryField fails if referencesOf lacks a field that names a Secret or ConfigMap:
// the server would not authorize the use of that object.
func TestReferencesOfEveryField(t *testing.T) {
	var spec v1beta1.WebsiteSpec
	named := map[string]string{}
	nameReferences(reflect.ValueOf(&spec).Elem(), "spec", named)
	if len(named) < 5 {
		t.Fatalf("only %v were found", named)
	}
	for _, reference := range referencesOf(&spec) {
		delete(named, reference.name)
	}
	if len(named) > 0 {
		t.Errorf("referencesOf lacks %v", named)
	}
}

// nameReferences sets a unique name in each reference within value, and maps that name to the path of the
// field in named.
func nameReferences(value reflect.Value, path string, named map[string]string) {
	name := fmt.Sprintf("name-%d", len(named))
	switch reference := value.Addr().Interface().(type) {
	case *v1beta1.SecretReference:
		reference.Name, named[name] = name, path
		return
	case *v1beta1.CAReference:
		reference.ConfigMapName, named[name] = name, path
		return
	}
	switch {
	case value.Kind() == reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		nameReferences(value.Elem(), path, named)
	case value.Kind() == reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		nameReferences(value.Index(0), path, named)
	case value.Kind() == reflect.Struct && value.Type().PkgPath() == reflect.TypeFor[v1beta1.WebsiteSpec]().PkgPath():
		for i := range value.NumField() {
			nameReferences(value.Field(i), path+"."+value.Type().Field(i).Name, named)
		}
	}
}
