package api

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/util/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// modelPrefix begins the names of this project's definitions.
const modelPrefix = "io.nevermosby.mycontroller."

// document returns the OpenAPI v3 document of a version, as the cluster serves it.
func document(t *testing.T, version schema.GroupVersion) *spec3.OpenAPI {
	t.Helper()
	data, err := framework.Admin(t).Kubernetes.Discovery().RESTClient().Get().
		AbsPath("/openapi/v3/apis/" + version.String()).Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	parsed := &spec3.OpenAPI{}
	if err := json.Unmarshal(data, parsed); err != nil {
		t.Fatalf("OpenAPI v3 of %s: %v", version, err)
	}
	return parsed
}

// walker collects the fields of a schema with their descriptions.
type walker struct {
	t            *testing.T
	schemas      map[string]*spec.Schema
	descriptions map[string]string
}

// resolve follows references, which are alone or, if the field adds to the referenced schema,
// within allOf.
func (w *walker) resolve(s *spec.Schema) *spec.Schema {
	reference := s.Ref
	if len(s.AllOf) == 1 {
		reference = s.AllOf[0].Ref
	}
	if reference.String() == "" {
		return s
	}
	name := strings.TrimPrefix(reference.String(), "#/components/schemas/")
	resolved, found := w.schemas[name]
	if !found {
		w.t.Fatalf("%s leads nowhere", reference.String())
	}
	return resolved
}

func (w *walker) walk(path string, s *spec.Schema) {
	resolved := w.resolve(s)
	switch {
	case resolved.Items != nil && resolved.Items.Schema != nil:
		w.walk(path, resolved.Items.Schema)
	case resolved.AdditionalProperties != nil && resolved.AdditionalProperties.Schema != nil:
		w.walk(path, resolved.AdditionalProperties.Schema)
	}
	for name, property := range resolved.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		w.descriptions[at] = property.Description
		w.walk(at, &property)
	}
}

// fieldsOf returns the fields of Website in a version with their descriptions.
func fieldsOf(t *testing.T, version schema.GroupVersion) map[string]string {
	t.Helper()
	w := &walker{t: t, schemas: document(t, version).Components.Schemas, descriptions: map[string]string{}}
	website, found := w.schemas[modelPrefix+version.Version+".Website"]
	if !found {
		t.Fatalf("OpenAPI v3 of %s lacks Website", version)
	}
	w.walk("", website)
	return w.descriptions
}

// recursiveField is a line of "kubectl explain --recursive" that names a field.
var recursiveField = regexp.MustCompile(`^( +)(\S+)\t<`)

// fieldsExplained returns the paths in the output of "kubectl explain --recursive".
func fieldsExplained(output string) []string {
	var path, paths []string
	for line := range strings.Lines(output) {
		match := recursiveField.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		path = append(path[:min(len(path), len(match[1])/2-1)], match[2])
		paths = append(paths, strings.Join(path, "."))
	}
	slices.Sort(paths)
	return paths
}

// TestExplainIsComplete compares the document of each version with kubectl's output: every field is
// listed, with a description.
func TestExplainIsComplete(t *testing.T) {
	t.Parallel()
	framework.WaitForOpenAPI(t)
	for version, atLeast := range map[schema.GroupVersion]int{v1alpha1.SchemeGroupVersion: 25,
		v1beta1.SchemeGroupVersion: 85} {
		t.Run(version.Version, func(t *testing.T) {
			fields := fieldsOf(t, version)
			if len(fields) < atLeast {
				t.Errorf("only %d fields: %v", len(fields), slices.Sorted(maps.Keys(fields)))
			}
			for path, description := range fields {
				if description == "" {
					t.Errorf("%s has no description", path)
				}
			}
			explained := fieldsExplained(framework.Kubectl(t, "explain", "website", "--recursive",
				"--api-version="+version.String()))
			if want := slices.Sorted(maps.Keys(fields)); !slices.Equal(explained, want) {
				t.Errorf("kubectl explain --recursive shows %v, want %v", explained, want)
			}
		})
	}
}

// TestExplainEveryField runs kubectl explain for the path of each field with subfields, and for one leaf of each
// version.
func TestExplainEveryField(t *testing.T) {
	t.Parallel()
	framework.WaitForOpenAPI(t)
	for _, version := range []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion} {
		fields, children := fieldsOf(t, version), map[string][]string{}
		for path := range fields {
			if !strings.HasPrefix(path, "metadata.") { // Every object has these fields.
				parent, name := "", path
				if at := strings.LastIndex(path, "."); at >= 0 {
					parent, name = path[:at], path[at+1:]
				}
				children[parent] = append(children[parent], name)
			}
		}
		for parent, names := range children {
			path := strings.Trim("website."+parent, ".")
			got := framework.Kubectl(t, "explain", path, "--api-version="+version.String())
			for _, name := range names {
				if !regexp.MustCompile(`\n  ` + name + `\t<[^\n]+>(\s-required-)?\n(  enum: [^\n]+\n)?    [^\n]+\n`).
					MatchString(got) {
					t.Errorf("kubectl explain %s of %s does not explain %s:\n%s", path, version, name, got)
				}
			}
			if strings.Contains(got, "<empty>") || strings.Contains(got, "<no description>") {
				t.Errorf("kubectl explain %s of %s printed\n%s", path, version, got)
			}
		}
		got := framework.Kubectl(t, "explain", "website.spec.replicas", "--api-version="+version.String())
		if !strings.Contains(got, "FIELD: replicas <") || !strings.Contains(got, "DESCRIPTION:\n    ") ||
			strings.Contains(got, "<empty>") {
			t.Errorf("kubectl explain website.spec.replicas of %s printed\n%s", version, got)
		}
	}
}

// TestOpenAPIOfTheClusterIsValid parses the merged document as kubectl and Helm do: a single
// dangling reference would invalidate all of it.
func TestOpenAPIOfTheClusterIsValid(t *testing.T) {
	t.Parallel()
	framework.WaitForOpenAPI(t)
	document, err := framework.Admin(t).Kubernetes.Discovery().OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		t.Fatalf("OpenAPI v2 of the cluster: %v", err)
	}
	for _, name := range []string{modelPrefix + "v1alpha1.Website", modelPrefix + "v1beta1.Website",
		"io.k8s.api.apps.v1.Deployment", "io.k8s.api.autoscaling.v1.Scale"} {
		if models.LookupModel(name) == nil {
			t.Errorf("OpenAPI v2 of the cluster lacks %s", name)
		}
	}
	// kubectl get and kubectl apply look kinds up by this extension.
	for _, version := range []schema.GroupVersion{v1alpha1.SchemeGroupVersion, v1beta1.SchemeGroupVersion} {
		kinds, _ := models.LookupModel(modelPrefix + version.Version + ".Website").
			GetExtensions()["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 {
			t.Errorf("kinds of Website in %s = %v, want one", version, kinds)
		}
	}
}
