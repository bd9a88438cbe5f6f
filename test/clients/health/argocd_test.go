package health

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// healthCheck returns the shipped health check for Argo CD.
func healthCheck(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "artifacts", "clients", "argocd", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var configMap struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(data, &configMap); err != nil {
		t.Fatal(err)
	}
	script := configMap.Data["resource.customizations.health.mycontroller.nevermosby.io_Website"]
	if script == "" {
		t.Fatal("argocd-cm.yaml has no health check of Websites")
	}
	return script
}

// TestKnownTypeFields: Argo CD compares quantities by value only in configured fields.
func TestKnownTypeFields(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "artifacts", "clients", "argocd", "argocd-cm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var configMap struct{ Data map[string]string }
	if err := yaml.UnmarshalStrict(data, &configMap); err != nil {
		t.Fatal(err)
	}
	var fields []struct{ Field, Type string }
	if err := yaml.UnmarshalStrict(
		[]byte(configMap.Data["resource.customizations.knownTypeFields.mycontroller.nevermosby.io_Website"]), &fields,
	); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, field := range fields {
		got[field.Field] = field.Type
	}
	want := map[string]string{}
	quantities(reflect.TypeFor[v1beta1.WebsiteSpec](), "spec", want)
	if !maps.Equal(got, want) {
		t.Errorf("the fields are %v, want %v", got, want)
	}
}

// quantities adds the fields of a type that have quantities, with their types in Argo
// CD's notation.
func quantities(typ reflect.Type, path string, found map[string]string) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case typ == reflect.TypeFor[resource.Quantity]():
		found[path] = "core/Quantity"
	case typ == reflect.TypeFor[corev1.ResourceRequirements]():
		found[path] = "core/v1/ResourceRequirements"
	case typ.Kind() == reflect.Struct:
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			quantities(field.Type, path+"."+name, found)
		}
	}
}

// argoHealth runs a health check as Argo CD does, with the few libraries that it opens,
// and returns the status and message.
func argoHealth(ctx context.Context, script string, website *unstructured.Unstructured) (status,
	message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.SetContext(ctx)
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
	} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	state.SetGlobal("obj", luaValue(state, website.Object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	result, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return "", "", fmt.Errorf("the health check returns %v, want a table", state.Get(-1))
	}
	return state.GetField(result, "status").String(), state.GetField(result, "message").String(), nil
}

// luaValue converts JSON as Argo CD does: integers become numbers as well.
func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		list := state.NewTable()
		for _, item := range value {
			list.Append(luaValue(state, item))
		}
		return list
	case map[string]any:
		object := state.NewTable()
		for key, item := range value {
			object.RawSetString(key, luaValue(state, item))
		}
		return object
	default:
		return lua.LNil
	}
}
