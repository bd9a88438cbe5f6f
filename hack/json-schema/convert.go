package main

import (
	"maps"
	"slices"
	"strings"
)

const (
	openAPIDefinitions = "#/components/schemas/"
	definitions        = "#/definitions/"
)

// convert turns a schema of OpenAPI v3 into a JSON Schema, in place. Extensions are removed, as validators do not
// support them. An object has only the declared properties, as strict field validation rejects others. An optional
// property that is no reference may be null, as clients write an unset one.
func convert(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		maps.DeleteFunc(schema, func(key string, _ any) bool { return strings.HasPrefix(key, "x-kubernetes-") })
		for key, value := range schema {
			switch key {
			case "properties":
				convertProperties(schema, value)
			case "default", "enum":
			case "$ref":
				if ref, ok := value.(string); ok {
					schema[key] = definitions + strings.TrimPrefix(ref, openAPIDefinitions)
				}
			default:
				convert(value)
			}
		}
	case []any:
		for _, element := range schema {
			convert(element)
		}
	}
}

func convertProperties(schema map[string]any, value any) {
	properties, ok := value.(map[string]any)
	if !ok {
		return
	}
	schema["additionalProperties"] = false
	required, _ := schema["required"].([]any)
	for name, property := range properties {
		convert(property)
		object, ok := property.(map[string]any)
		if kind, hasType := object["type"].(string); ok && hasType && object["enum"] == nil &&
			!slices.Contains(required, any(name)) {
			object["type"] = []string{kind, "null"}
		}
	}
}
