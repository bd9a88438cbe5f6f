package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
)

// structure is a type with fields.
type structure struct {
	Name        string
	Description string
	Fields      []apiField
}

// apiField is a row of a structure's table.
type apiField struct {
	Name     string
	Type     string
	Required bool
	// Description includes valid values and the default.
	Description string
}

// structures returns root and the types of its package below it, each once, in
// the order of reading.
func structures(root reflect.Type, definitions map[string]common.OpenAPIDefinition) ([]structure, error) {
	var found []structure
	queue, seen := []reflect.Type{root}, map[reflect.Type]bool{root: true}
	for len(queue) > 0 {
		typ := queue[0]
		queue = queue[1:]
		schema, err := definitionOf(typ, definitions)
		if err != nil {
			return nil, err
		}
		s := structure{Name: typ.Name(), Description: oneLine(schema.Description)}
		for goField := range typ.Fields() {
			name, _, _ := strings.Cut(goField.Tag.Get("json"), ",")
			if name == "" {
				continue // TypeMeta: apiVersion and kind of every manifest.
			}
			property, ok := schema.Properties[name]
			if !ok {
				return nil, fmt.Errorf("OpenAPI does not define %s.%s: generate the code of the types first", typ, name)
			}
			s.Fields = append(s.Fields, apiField{
				Name: name, Type: typeName(goField.Type, root),
				Required: slices.Contains(schema.Required, name), Description: oneLine(property.Description),
			})
			if below := element(goField.Type); below.Kind() == reflect.Struct &&
				below.PkgPath() == root.PkgPath() && !seen[below] {
				seen[below] = true
				queue = append(queue, below)
			}
		}
		found = append(found, s)
	}
	return found, nil
}

// element returns the element type of a pointer, list or map.
func element(typ reflect.Type) reflect.Type {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return element(typ.Elem())
	default:
		return typ
	}
}

// typeName returns the name of a type in manifests, with a link to an own type.
func typeName(typ, root reflect.Type) string {
	switch typ.Kind() {
	case reflect.Pointer:
		return typeName(typ.Elem(), root)
	case reflect.Slice:
		return "list of " + typeName(typ.Elem(), root)
	case reflect.Map:
		return "map of " + typeName(typ.Key(), root) + " to " + typeName(typ.Elem(), root)
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.String:
		return "string"
	default:
		if typ.PkgPath() != root.PkgPath() {
			return typ.Name()
		}
		version := typ.PkgPath()[strings.LastIndex(typ.PkgPath(), "/")+1:]
		return fmt.Sprintf("[%s](#%s-%s)", typ.Name(), version, strings.ToLower(typ.Name()))
	}
}

// oneLine formats a comment for a cell of a table.
func oneLine(description string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(strings.Join(strings.Fields(description), " "))
}
