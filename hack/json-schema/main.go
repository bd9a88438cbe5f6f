// Command json-schema writes a JSON Schema of each version of Website into a directory, for editors
// and kubeconform. It converts the server's OpenAPI v3 schemas.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime/schema"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver"
	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: json-schema DIRECTORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "json-schema: %v\n", err)
		os.Exit(1)
	}
}

func write(directory string) error {
	scheme, _, err := apiserver.NewScheme()
	if err != nil {
		return err
	}
	config := genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions,
		openapinamer.NewDefinitionNamer(scheme))
	for name, version := range map[string]schema.GroupVersion{
		v1alpha1.Website{}.OpenAPIModelName(): v1alpha1.SchemeGroupVersion,
		v1beta1.Website{}.OpenAPIModelName():  v1beta1.SchemeGroupVersion,
	} {
		definitions, err := builder3.BuildOpenAPIDefinitionsForResources(config, name)
		if err != nil {
			return fmt.Errorf("building the definitions of %s: %w", name, err)
		}
		document, err := jsonSchema(name, version.WithKind("Website"), definitions)
		if err != nil {
			return err
		}
		data, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the JSON Schema of %s: %w", name, err)
		}
		// kubeconform and its catalogues name the schema of a custom resource like that.
		file := filepath.Join(directory, "website_"+version.Version+".json")
		if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
			return fmt.Errorf("writing the JSON Schema of %s: %w", name, err)
		}
	}
	return nil
}

// jsonSchema returns the JSON Schema of a kind, given its OpenAPI definitions.
func jsonSchema(name string, kind schema.GroupVersionKind,
	definitions map[string]*spec.Schema) (map[string]any, error) {
	data, err := json.Marshal(definitions)
	if err != nil {
		return nil, fmt.Errorf("encoding the definitions of %s: %w", name, err)
	}
	var converted map[string]any
	if err := json.Unmarshal(data, &converted); err != nil {
		return nil, fmt.Errorf("decoding the definitions of %s: %w", name, err)
	}
	for _, definition := range converted {
		convert(definition)
	}
	root, ok := converted[name].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("there is no definition of %s", name)
	}
	delete(converted, name)
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["definitions"] = converted
	root["required"] = []string{"apiVersion", "kind", "metadata", "spec"}
	properties, ok := root["properties"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s has no properties", name)
	}
	for property, value := range map[string]string{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind} {
		member, ok := properties[property].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s has no property %s", name, property)
		}
		member["const"] = value
	}
	return root, nil
}
