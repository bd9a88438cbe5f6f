package website

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestEveryFieldHasACase fails when a field is added to v1beta1 without a case
// in which it is accepted, and one in which it is rejected.
func TestEveryFieldHasACase(t *testing.T) {
	accepted, refused := map[string]bool{}, map[string]bool{}
	record := func(tweak func(*website.Website), want []string) {
		for _, err := range want {
			path, _, _ := strings.Cut(err, ": ")
			refused[index.ReplaceAllString(path, "[]")] = true
		}
		internal, versioned := newWebsite(tweak), &v1beta1.Website{}
		if err := website.Convert_website_Website_To_v1beta1_Website(internal, versioned, nil); err != nil {
			t.Fatal(err)
		}
		if len(want) > 0 {
			return
		}
		for _, field := range append(apiFields("spec", reflect.ValueOf(versioned.Spec)),
			apiFields("status", reflect.ValueOf(versioned.Status))...) {
			accepted[field.path] = accepted[field.path] || field.set
		}
	}
	for _, test := range allSpecCases() {
		record(test.tweak, test.want)
	}
	for _, test := range statusCases {
		record(func(w *website.Website) { test.tweak(&w.Status) }, test.want)
	}

	var declared []apiField
	declared = append(declared, apiFields("spec", reflect.New(reflect.TypeFor[v1beta1.WebsiteSpec]()).Elem())...)
	declared = append(declared, apiFields("status", reflect.New(reflect.TypeFor[v1beta1.WebsiteStatus]()).Elem())...)
	if len(declared) < 58 {
		t.Errorf("only %d fields were found", len(declared))
	}
	for _, field := range declared {
		if !accepted[field.path] {
			t.Errorf("no accepted case sets %s", field.path)
		}
		// Both values of a boolean are valid.
		isBoolean := field.typ.Kind() == reflect.Bool || field.typ == reflect.TypeFor[*bool]()
		if !isBoolean && !serverOnly[field.path] && !mentioned(refused, field.path) {
			t.Errorf("no case refuses %s", field.path)
		}
	}
}

// serverOnly are the fields that no client can set.
var serverOnly = map[string]bool{
	"status.sync.lastRequest": true, "status.sync.lastRequest.id": true, "status.sync.lastRequest.time": true,
	"status.sync.lastRequest.by": true, "status.sync.lastRequest.commit": true,
}

// index is a list's index or a map's key in the path of a field.
var index = regexp.MustCompile(`\[[^\]]*\]`)

// mentioned reports whether a path is among paths, or a prefix of one of them.
func mentioned(paths map[string]bool, path string) bool {
	for other := range paths {
		if rest, found := strings.CutPrefix(other, path); found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// apiField is a field without subfields of this API.
type apiField struct {
	path string
	typ  reflect.Type
	// set is set for a value other than zero.
	set bool
}

// apiFields returns the fields below value by their JSON names, also below nil
// and empty values.
func apiFields(path string, value reflect.Value) []apiField {
	ours := reflect.TypeFor[v1beta1.Website]().PkgPath()
	typ := value.Type()
	switch {
	case typ.Kind() == reflect.Pointer && typ.Elem().PkgPath() == ours:
		if value.IsNil() {
			value = reflect.New(typ.Elem())
		}
		return apiFields(path, value.Elem())
	case typ.Kind() == reflect.Slice && typ.Elem().PkgPath() == ours:
		if value.Len() == 0 {
			value = reflect.MakeSlice(typ, 1, 1)
		}
		return apiFields(path+"[]", value.Index(0))
	case typ.Kind() != reflect.Struct || typ.PkgPath() != ours:
		return []apiField{{path: path, typ: typ, set: !value.IsZero()}}
	}
	var below []apiField
	for i := range value.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		below = append(below, apiFields(path+"."+name, value.Field(i))...)
	}
	return below
}
