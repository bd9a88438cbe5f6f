// Command api-reference prints the reference of the API as Markdown: the
// descriptions of all fields in the generated OpenAPI definitions, in the order
// of the Go types, and the manifests of artifacts/examples. It is run at the root
// of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"text/template"

	_ "embed"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
)

//go:embed api.md.tmpl
var page string

// reference is the input of the template.
type reference struct {
	Versions []version
}

type version struct {
	Name     string
	Types    []structure
	Examples []example
}

func main() {
	if err := write(); err != nil {
		fmt.Fprintf(os.Stderr, "api-reference: %v\n", err)
		os.Exit(1)
	}
}

func write() error {
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(name) })
	var r reference
	for _, served := range []struct {
		name string
		root reflect.Type
	}{
		{name: "v1beta1", root: reflect.TypeFor[v1beta1.Website]()},
		{name: "v1alpha1", root: reflect.TypeFor[v1alpha1.Website]()},
	} {
		types, err := structures(served.root, definitions)
		if err != nil {
			return err
		}
		examples, err := readExamples(filepath.Join("artifacts", "examples"), served.name)
		if err != nil {
			return err
		}
		r.Versions = append(r.Versions, version{Name: served.name, Types: types, Examples: examples})
	}
	parsed, err := template.New("api.md").Parse(page)
	if err != nil {
		return fmt.Errorf("parsing the template: %w", err)
	}
	if err := parsed.Execute(os.Stdout, r); err != nil {
		return fmt.Errorf("writing the reference: %w", err)
	}
	return nil
}

// example is a manifest.
type example struct {
	// File is the name of the manifest.
	File string
	// About is the text of the comment at its beginning.
	About string
	// Manifest is the rest of the file.
	Manifest string
}

// readExamples returns the manifests in folder of a version of Website.
func readExamples(folder, version string) ([]example, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var examples []example
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading an example: %w", err)
		}
		if !strings.Contains(string(data), v1beta1.GroupName+"/"+version+"\n") {
			continue
		}
		var about []string
		rest := string(data)
		for {
			comment, below, _ := strings.Cut(rest, "\n")
			text, isComment := strings.CutPrefix(comment, "# ")
			if !isComment {
				break
			}
			about, rest = append(about, text), below
		}
		examples = append(examples, example{File: filepath.ToSlash(file), About: strings.Join(about, "\n"),
			Manifest: strings.TrimSpace(rest)})
	}
	return examples, nil
}

// definitionOf returns the definition of an own type, by the name that its
// package declares.
func definitionOf(typ reflect.Type, definitions map[string]common.OpenAPIDefinition) (spec.Schema, error) {
	named, ok := reflect.Zero(typ).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		return spec.Schema{}, fmt.Errorf("%s has no name in OpenAPI: generate the code of the types first", typ)
	}
	definition, ok := definitions[named.OpenAPIModelName()]
	if !ok {
		return spec.Schema{}, fmt.Errorf("OpenAPI does not define %s: generate the code of the types first",
			named.OpenAPIModelName())
	}
	return definition.Schema, nil
}
