// Command models-schema prints the generated OpenAPI definitions as one OpenAPI
// v2 document, from which applyconfiguration-gen reads the types' structure.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
)

// The generator looks up types by names made from their Go package, although
// definitions have the names that the package declares.
const (
	declaredPrefix = "io.nevermosby.mycontroller."
	goPrefix       = "com.github.kubesites.website-apiserver.pkg.apis.website."
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintf(os.Stderr, "models-schema: %v\n", err)
		os.Exit(1)
	}
}

func write() error {
	document := spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "Website", Version: "unversioned"}},
		Definitions: spec.Definitions{},
	}}
	reference := func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) }
	for name, definition := range openapi.GetOpenAPIDefinitions(reference) {
		schema := definition.Schema
		// A type whose v3 schema cannot be expressed in v2 has its v2 schema as an extension.
		if v2, ok := schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
			schema = v2
		}
		document.Definitions[name] = schema
	}
	for name, schema := range maps.Clone(document.Definitions) {
		if unprefixed, ours := strings.CutPrefix(name, declaredPrefix); ours {
			document.Definitions[goPrefix+unprefixed] = schema
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(document); err != nil {
		return fmt.Errorf("encoding the OpenAPI document: %w", err)
	}
	return nil
}
