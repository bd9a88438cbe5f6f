package apiserver

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
)

const modelPrefix = "io.nevermosby.mycontroller."

func definitions() map[string]common.OpenAPIDefinition {
	return openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) })
}

// TestOpenAPINames protects the whole cluster: a definition whose name contains
// a slash invalidates the merged document.
func TestOpenAPINames(t *testing.T) {
	kinds := map[string]bool{}
	for name := range definitions() {
		if strings.Contains(name, "/") {
			t.Errorf("definition %q contains a slash", name)
		}
		kinds[name] = true
	}
	for _, want := range []string{"v1alpha1.Website", "v1alpha1.WebsiteList", "v1beta1.Website", "v1beta1.WebsiteList"} {
		if !kinds[modelPrefix+want] {
			t.Errorf("there is no definition %s", modelPrefix+want)
		}
	}
}

// TestOpenAPIDescriptions: "kubectl explain" has a description of every type and
// field of this API.
func TestOpenAPIDescriptions(t *testing.T) {
	ours := 0
	for name, definition := range definitions() {
		if !strings.HasPrefix(name, modelPrefix) {
			continue
		}
		ours++
		if definition.Schema.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for property, schema := range definition.Schema.Properties {
			if schema.Description == "" {
				t.Errorf("%s.%s has no description", name, property)
			}
		}
	}
	if ours < 18 {
		t.Errorf("only %d definitions are ours", ours)
	}
}

// TestOpenAPIMarkers checks the markers by which clients merge, default and complete.
func TestOpenAPIMarkers(t *testing.T) {
	properties := func(model string) map[string]spec.Schema {
		return definitions()[modelPrefix+model].Schema.Properties
	}
	conditions := properties("v1beta1.WebsiteStatus")["conditions"]
	if conditions.Extensions["x-kubernetes-list-type"] != "map" {
		t.Errorf("list type of conditions = %v, want map", conditions.Extensions["x-kubernetes-list-type"])
	}
	serviceType := properties("v1beta1.WebsiteService")["type"]
	if len(serviceType.Enum) != 3 {
		t.Errorf("values of the service's type = %v, want three", serviceType.Enum)
	}
	// The generator describes a value by any constant of the type, also by one of another package.
	want := "`\"NodePort\"` makes the site reachable on a port of every node."
	if !strings.Contains(serviceType.Description, want) {
		t.Errorf("the service's type is %q, want it to contain %q", serviceType.Description, want)
	}
	if got := properties("v1beta1.WebsitePolling")["periodSeconds"].Default; got != 60 {
		t.Errorf("default period = %v (%T), want 60", got, got)
	}
	for model, want := range map[string][]string{
		"v1beta1.WebsiteSource": nil, "v1beta1.GitSource": {"repository"},
		"v1beta1.ResponseHeader": {"path", "name", "value"},
	} {
		if got := definitions()[modelPrefix+model].Schema.Required; !slices.Equal(got, want) {
			t.Errorf("required in %s: %v, want %v", model, got, want)
		}
	}
	if got := properties("v1beta1.WebsiteService")["type"].Default; got != "ClusterIP" {
		t.Errorf("default type of the Service = %v, want ClusterIP", got)
	}
}
