package bodies

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// repeated returns a list of n items.
func repeated(item string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
}

// inAnnotation returns a Website of v1alpha1 with the fields that it lacks.
func inAnnotation(fields string) string {
	value, err := json.Marshal(fields)
	if err != nil {
		panic(err) // Text always is JSON.
	}
	return fmt.Sprintf(`{"metadata":{"annotations":{"fields":%s}}}`, value)
}

// inProtobuf returns a field of a message in messages, the last one without a type.
func inProtobuf(value []byte, numbers ...protowire.Number) []byte {
	for i := len(numbers) - 1; i >= 0; i-- {
		value = protowire.AppendBytes(protowire.AppendTag(nil, numbers[i], protowire.BytesType), value)
	}
	return value
}

// The numbers of fields in protobuf.
const (
	rawNumber                                                     = 2
	metadataNumber, specNumber                                    = 1, 2
	annotationsNumber, ownerReferencesNumber, managedFieldsNumber = 12, 13, 17
	valueNumber                                                   = 2
	fieldsNumber, fieldsJSONNumber                                = 7, 1
	servingNumber, resourcesNumber, storageNumber                 = 6, 8, 17
)

func TestCheck(t *testing.T) {
	quantity := func(text string) string {
		return fmt.Sprintf(`{"spec":{"resources":{"server":{"limits":{"cpu":%s}}}}}`, text)
	}
	anchor := "a: &a " + strings.Repeat("x", 1000) + "\n"
	references := func(n int) string {
		var metadata []byte
		for range n {
			metadata = append(metadata, inProtobuf(nil, ownerReferencesNumber)...)
		}
		return "k8s\x00" + string(inProtobuf(metadata, rawNumber, metadataNumber))
	}
	// The decoder drops the excess bits of a number.
	longTag := string(protowire.AppendVarint(nil, (1<<32+15)<<3|2)) + "\x00"
	longLength := "\x7a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"
	merged := func(part []byte, number protowire.Number, n int) string {
		return "k8s\x00" + string(inProtobuf([]byte(strings.Repeat(string(inProtobuf(part, number)), n)), rawNumber))
	}
	patched := func(path, value string) string {
		return fmt.Sprintf(`[{"op":"add","value":%s,"path":"%s"}]`, value, path)
	}
	unknown := func(value string, numbers ...protowire.Number) string {
		return "k8s\x00" + string(inProtobuf([]byte(value), append([]protowire.Number{rawNumber}, numbers...)...))
	}
	limit := []protowire.Number{specNumber, resourcesNumber, 1, 2, 2, 1}
	annotation := []protowire.Number{metadataNumber, annotationsNumber, valueNumber}
	managed := func(entries string) string { return `{"metadata":{"managedFields":` + entries + `}}` }
	// half has half of the members that managed fields may have, and as many more as entries have.
	half := `{"fieldsV1":{` + members(maxItems/2-maxNesting) + `}}`
	managedProtobuf := func(fields string, n int) string {
		entry := inProtobuf([]byte(fields), managedFieldsNumber, fieldsNumber, fieldsJSONNumber)
		return unknown(strings.Repeat(string(entry), n), metadataNumber)
	}
	ordered := func(list, items string) string {
		return fmt.Sprintf(`{"metadata":{"$setElementOrder/%s":%s}}`, list, items)
	}
	const none, invalid, tooLarge = 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge
	tests := map[string]struct {
		body   string
		format format
		want   int32
	}{
		"a quantity":                  {quantity(`"100m"`), asJSON, none},
		"an exponent":                 {quantity(`"1e3"`), asJSON, none},
		"the largest exponent":        {quantity(`"1e+29"`), asJSON, none},
		"an exponent of two digits":   {quantity(`"1e-30"`), asJSON, invalid},
		"as many digits as may be":    {quantity(`"` + strings.Repeat("9", 24) + `"`), asJSON, none},
		"one digit more":              {quantity(`"` + strings.Repeat("9", 25) + `"`), asJSON, invalid},
		"a large exponent":            {quantity(`"1e2147483646"`), asJSON, invalid},
		"a small exponent":            {quantity(`"1E-2147483640"`), asJSON, invalid},
		"an exponent that is valid":   {quantity(`"1e+300"`), asJSON, invalid},
		"escaped":                     {quantity(`"\u0031e99999"`), asJSON, invalid},
		"between spaces":              {quantity(`" 1e99999 "`), asJSON, invalid},
		"a number":                    {quantity(`1e99999`), asJSON, invalid},
		"many digits":                 {quantity(`"` + strings.Repeat("9", 100000) + `Ki"`), asJSON, invalid},
		"followed by what is no JSON": {quantity(`"1e99999"`) + "x", asJSON, invalid},
		"of v1alpha1":                 {inAnnotation(quantity(`"1e99999"`)), asJSON, invalid},
		"of v1alpha1, small":          {inAnnotation(quantity(`"1e9"`)), asJSON, none},
		"by a JSON patch": {`[{"op":"replace","path":"/spec/storage/sizeLimit","value":"1e99999"}]`,
			asJSONPatch, invalid},
		"by a JSON patch, the path last": {patched("/spec/storage/sizeLimit", `"1e99999"`), asJSONPatch, invalid},
		"by a JSON patch, in an object": {patched("/spec/resources/server", `{"limits":{"cpu":"1e99999"}}`),
			asJSONPatch, invalid},
		"by a JSON patch, a number":    {patched("/spec/storage/sizeLimit", "1e99999"), asJSONPatch, invalid},
		"as the spec, by a JSON patch": {patched("/spec", `{"storage":{"sizeLimit":"1e99999"}}`), asJSONPatch, invalid},
		"copied by a JSON patch": {`[{"op":"copy","from":"/metadata/annotations/x",` +
			`"path":"/spec/storage/sizeLimit"}]`, asJSONPatch, invalid},
		"moved by a JSON patch": {`[{"path":"/spec/storage/sizeLimit","op":"move",` +
			`"from":"/metadata/annotations/resources"}]`, asJSONPatch, invalid},
		"moved as a whole":         {`[{"op":"move","from":"/x","path":"z/spec"}]`, asJSONPatch, invalid},
		"after the spec was moved": {`[{"op":"move","from":"/spec","path":"/s"}]`, asJSONPatch, invalid},
		"as the whole document":    {patched("", quantity(`"1e99999"`)), asJSONPatch, invalid},
		"moved annotations": {`[{"op":"move","from":"/metadata/annotations/a",` +
			`"path":"/metadata/annotations/resources-e2024"}]`, asJSONPatch, none},
		"many moves": {repeated(`{"op":"move","from":"/a/b","path":"/c/d"}`, maxListItems+1),
			asJSONPatch, tooLarge},
		"a long path": {patched(strings.Repeat("/a", maxNesting+1), "1"), asJSONPatch, tooLarge},
		"an annotation like a member": {patched("/metadata/annotations/resources.example.com~1sum", `"e100"`),
			asJSONPatch, none},
		"a JSON patch, text elsewhere":   {patched("/spec/source/git/ref/branch", `"e2024"`), asJSONPatch, none},
		"a JSON patch, digits elsewhere": {patched("/spec/pin", `"`+strings.Repeat("1", 70)+`"`), asJSONPatch, none},
		"within a JSON patch": {`[{"op":"add","path":"/spec","value":` + quantity(`"1e99999"`) + `}]`,
			asJSONPatch, invalid},
		"as YAML":                     {"spec:\n  storage:\n    sizeLimit: 1e99999\n", asYAML, invalid},
		"as YAML, in binary":          {"spec:\n  storage:\n    sizeLimit: !!binary MWU5OTk5OQ==\n", asYAML, invalid},
		"as protobuf":                 {unknown("1e99999", limit...), asJSON, invalid},
		"of the storage":              {`{"spec":{"storage":{"sizeLimit":"1e99999"}}}`, asJSON, invalid},
		"of the storage, as protobuf": {unknown("1e99999", specNumber, storageNumber, 1, 1), asJSON, invalid},
		"as protobuf, before an error": {unknown(string(inProtobuf([]byte("1e99999"), limit...)) + "\xff"),
			asJSON, invalid},
		"as protobuf, small":            {unknown("1e9", limit...), asJSON, none},
		"as protobuf, of v1alpha1":      {unknown(quantity(`"1e99999"`), annotation...), asJSON, invalid},
		"as protobuf, text elsewhere":   {unknown("1e99999", annotation...), asJSON, none},
		"as protobuf, a name":           {unknown("e2024", specNumber, 9), asJSON, none},
		"as protobuf, in the status":    {unknown("e2024", 3, 9), asJSON, none},
		"as protobuf, after a long tag": {"k8s\x00" + longTag + unknown("1e99999", limit...)[4:], asJSON, invalid},
		"as protobuf, a long length":    {"k8s\x00" + longLength + unknown("1e99999", limit...)[4:], asJSON, invalid},
		"as protobuf, after other fields": {
			unknown(
				"\x08\x01\x0d\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x7b\x7c" +
					string(inProtobuf([]byte("1e99999"), limit...)),
			), asJSON, invalid,
		},
		"merged owner references": {merged(inProtobuf(nil, ownerReferencesNumber), metadataNumber, maxListItems+1),
			asJSON, tooLarge},
		"merged items of a list": {merged(inProtobuf([]byte(strings.Repeat("\x22\x00", maxItems/10)), servingNumber),
			specNumber, 11), asJSON, tooLarge},
		"as protobuf, a list": {
			"k8s\x00" + string(inProtobuf([]byte("WebsiteList"), 1, 2)) + strings.Repeat("\x12\x00", minBytes/2),
			asJSON, tooLarge,
		},
		"as protobuf, options": {"k8s\x00" + string(inProtobuf([]byte("DeleteOptions"), 1, 2)), asJSON, none},
		"as protobuf, damaged": {unknown("\x0a\xff", specNumber), asJSON, invalid},
		"as protobuf, many groups": {unknown(strings.Repeat("\x13", maxQuantityBytes+1), limit[:5]...),
			asJSON, tooLarge},
		"as protobuf, managed fields": {unknown("{"+members(maxItems+1)+"}", metadataNumber, managedFieldsNumber,
			fieldsNumber, fieldsJSONNumber), asJSON, tooLarge},
		"as protobuf, text like messages": {unknown(strings.Repeat("x", 200<<10), annotation...), asJSON, none},
		"as protobuf, many items": {unknown(strings.Repeat("\x22\x00", maxItems), specNumber, servingNumber),
			asJSON, tooLarge},
		"the same in the storage": {unknown(strings.Repeat("\x13", maxQuantityBytes+1), specNumber, storageNumber, 1),
			asJSON, tooLarge},
		"a label": {`{"metadata":{"labels":{"resources":"e2024"}}}`, asJSON, none},
		"text elsewhere": {`{"spec":{"pin":{"commit":"1e99999"},` +
			`"serving":{"headers":[{"value":"1e99999"}]}}}`, asJSON, none},
		"owner references": {`{"metadata":{"ownerReferences":` + repeated("{}", maxListItems) + `}}`, asJSON,
			none},
		"too many owner references": {`{"metadata":{"ownerReferences":` + repeated("{}", maxListItems+1) + `}}`,
			asJSON, tooLarge},
		"the same as protobuf":           {references(maxListItems + 1), asJSON, tooLarge},
		"as many as may be, as protobuf": {references(maxListItems), asJSON, none},
		"by operations of a JSON patch": {repeated(`{"op":"add","path":"/metadata/ownerReferences/-","value":{}}`,
			maxListItems+1), asJSONPatch, tooLarge},
		"by a list in a JSON patch": {patched("/metadata/ownerReferences", repeated("{}", maxListItems+1)),
			asJSONPatch, tooLarge},
		"a short list in a JSON patch": {patched("/metadata/ownerReferences", repeated("{}", maxListItems)),
			asJSONPatch, none},
		"moved to owner references": {`[{"op":"move","from":"/a","path":"/metadata/ownerReferences"}]`,
			asJSONPatch, invalid},
		"a long list in a JSON patch": {patched("/spec/serving/redirects", repeated("{}", maxListItems+1)),
			asJSONPatch, none},
		"managed fields":                 {managed(repeated("{}", maxListItems)), asJSON, none},
		"too many managed fields":        {managed(repeated("{}", maxListItems+1)), asJSON, tooLarge},
		"as many of them, as protobuf":   {managedProtobuf("{}", maxListItems), asJSON, none},
		"too many of them, as protobuf":  {managedProtobuf("{}", maxListItems+1), asJSON, tooLarge},
		"members of managed fields":      {managed(repeated(half, 2)), asJSON, none},
		"too many members of them":       {managed(repeated(half, 3)), asJSON, tooLarge},
		"too many, as protobuf":          {managedProtobuf("{"+members(maxItems/2-maxNesting)+"}", 3), asJSON, tooLarge},
		"as many members, as protobuf":   {managedProtobuf("{"+members(maxItems/2-maxNesting)+"}", 2), asJSON, none},
		"too many members, a JSON patch": {patched("/metadata/managedFields", repeated(half, 3)), asJSONPatch, tooLarge},
		"members of several objects": {patched("/spec", repeated("{"+members(maxItems/2)+"}", 3)),
			asJSONPatch, tooLarge},
		"any long list":       {`{"spec":{"hosts":` + repeated("{}", maxListItems+1) + `}}`, asJSON, tooLarge},
		"a long list in text": {inAnnotation(`{"a":` + repeated("{}", maxListItems+1) + `}`), asJSON, none},
		"a long list as YAML": {"spec:\n  hosts:\n" + strings.Repeat("  - {}\n", maxListItems+1), asYAML, tooLarge},
		"a long list in another": {`{"spec":{"tolerations":[{"a":` + repeated("{}", maxListItems+1) + `}]}}`,
			asJSON, tooLarge},
		"a long list in a JSON patch, elsewhere": {patched("/spec/hosts", repeated("{}", maxListItems+1)),
			asJSONPatch, tooLarge},
		"many tolerations": {`{"spec":{"scheduling":{"tolerations":` + repeated("{}", maxListItems+1) + `}}}`,
			asJSON, none},
		"an order of items":          {ordered("finalizers", repeated(`"a"`, maxListItems)), asJSON, none},
		"an order of too many items": {ordered("hosts", repeated(`"a"`, maxListItems+1)), asJSON, tooLarge},
		"an order with an escape": {strings.Replace(ordered("hosts", repeated(`"a"`, maxListItems+1)),
			"$", `\u0024`, 1), asJSON, tooLarge},
		"a list that is replaced": {`{"spec":{"serving":{"redirects":` + repeated("{}", maxListItems+1) + `}}}`,
			asJSON, none},
		"nested": {strings.Repeat("[", maxNesting+1), asJSON, tooLarge},
		"the deepest managed fields": {
			patched("", `{"metadata":{"managedFields":[{"fieldsV1":{"f:status":{"f:hosts":`+
				`{"k":{"f:conditions":{"k":{"f:type":{}}}}}}}}]}}`), asJSONPatch, none,
		},
		"nested in text":      {inAnnotation(`{"a":` + strings.Repeat("[", maxNesting)), asJSON, tooLarge},
		"as nested as may be": {strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting), asJSON, none},
		"many items": {`{"spec":{"scheduling":{"tolerations":` + repeated("{}", maxItems+1) + `}}}`,
			asJSON, tooLarge},
		"many members":                    {`{"metadata":{"annotations":{` + members(maxItems+1) + `}}}`, asJSON, tooLarge},
		"as many members as may be":       {`{"metadata":{"annotations":{` + members(maxItems-2) + `}}}`, asJSON, none},
		"aliases":                         {anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", asYAML, invalid},
		"few aliases":                     {anchor + "b: [*a, *a]\n", asYAML, invalid},
		"an anchor":                       {anchor, asYAML, none},
		"an alias of another name":        {anchor + "b: '*b'\n", asYAML, none},
		"aliases in UTF-16":               {"\xff\xfea\x00:\x00 \x00&\x00a\x00 \x00b\x00", asYAML, invalid},
		"long YAML":                       {anchor + strings.Repeat("#", maxYAMLBytes), asYAML, tooLarge},
		"aliases of aliases":              {anchor + "b: &b [*a,*a,*a]\nc: [*b,*b,*b]\n", asYAML, invalid},
		"merged aliases":                  {"a: &a {b: " + strings.Repeat("x", 5000) + "}\nc: {<<: *a}\n", asYAML, invalid},
		"an alias of itself":              {"a: &a [*a]\n", asYAML, invalid},
		"an alias in a large document":    {"b: [" + strings.Repeat("x,", 1<<13) + "x]\nc: &c y\nd: *c\n", asYAML, invalid},
		"characters of aliases, in JSON":  {`{"a":"https://example.com/?a&b","c":"*"}`, asYAML, none},
		"characters of aliases, not YAML": {"a: &\nb: *\n", asYAML, invalid},
		"what is not decoded as YAML":     {anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", asJSON, none},
		"nothing":                         {"", asJSON, none},
		"what is no JSON":                 {"]", asJSON, none},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := check([]byte(test.body), test.format)
			if test.want == none && err != nil {
				t.Errorf("got %v", err)
			}
			if status, ok := err.(apierrors.APIStatus); test.want != none && (!ok || status.Status().Code != test.want) {
				t.Errorf("got %v, want the code %d", err, test.want)
			}
		})
	}
}

func members(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `,"a%d":""`, i)
	}
	return text.String()[1:]
}

// TestQuantities: no other members of a spec have quantities than those that are checked.
func TestQuantities(t *testing.T) {
	checked := []string{resources, storage}
	var has func(reflect.Type) bool
	has = func(of reflect.Type) bool {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			return has(of.Elem())
		case reflect.Struct:
			if of == reflect.TypeFor[resource.Quantity]() {
				return true
			}
			for i := range of.NumField() {
				if has(of.Field(i).Type) {
					return true
				}
			}
		}
		return false
	}
	spec := reflect.TypeFor[v1beta1.WebsiteSpec]()
	for i := range spec.NumField() {
		field := spec.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if has(field.Type) != slices.Contains(checked, name) {
			t.Errorf("the quantities of %s are checked: %t", name, !has(field.Type))
		}
	}
	if alpha := reflect.TypeFor[v1alpha1.WebsiteSpec](); has(alpha) {
		t.Errorf("%s has quantities, which are not checked", alpha)
	}
}

// TestExamples: none of them is costly.
func TestExamples(t *testing.T) {
	examples, err := filepath.Glob("../../../artifacts/examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatal("there are no examples", err)
	}
	for _, path := range examples {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			if err := check([]byte(document), asYAML); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	body := []byte(`{"apiVersion":"v1","metadata":{"name":"site"},` +
		`"spec":{"source":{"git":{"repository":"https://git.example.com/site.git"}},` +
		`"resources":{"server":{"requests":{"cpu":"10m","memory":"16Mi"},"limits":{"memory":"64Mi"}}},` +
		`"serving":{"redirects":` + repeated(`{"from":"/a","to":"/b","code":302}`, 10) + `}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := check(body, asJSON); err != nil {
			b.Fatal(err)
		}
	}
}
