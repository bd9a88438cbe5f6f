package costlybodies

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// The decoder drops the bits of a number that are too many.
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
	const none, invalid, tooLarge = 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge
	tests := map[string]struct {
		body   string
		isYAML bool
		want   int32
	}{
		"a quantity":                      {quantity(`"100m"`), false, none},
		"an exponent":                     {quantity(`"1e3"`), false, none},
		"a large exponent":                {quantity(`"1e2147483646"`), false, invalid},
		"a small exponent":                {quantity(`"1E-2147483640"`), false, invalid},
		"an exponent that is valid":       {quantity(`"1e+300"`), false, invalid},
		"escaped":                         {quantity(`"\u0031e99999"`), false, invalid},
		"between spaces":                  {quantity(`" 1e99999 "`), false, invalid},
		"a number":                        {quantity(`1e99999`), false, invalid},
		"many digits":                     {quantity(`"` + strings.Repeat("9", 100000) + `Ki"`), false, invalid},
		"followed by what is no JSON":     {quantity(`"1e99999"`) + "x", false, invalid},
		"of v1alpha1":                     {inAnnotation(quantity(`"1e99999"`)), false, invalid},
		"of v1alpha1, small":              {inAnnotation(quantity(`"1e9"`)), false, none},
		"by a JSON patch":                 {`[{"op":"replace","path":"/spec/resources/disk","value":"1e99999"}]`, false, invalid},
		"by a JSON patch, the path last":  {patched("/spec/resources/disk", `"1e99999"`), false, invalid},
		"by a JSON patch, in an object":   {patched("/spec/resources/server", `{"limits":{"cpu":"1e99999"}}`), false, invalid},
		"by a JSON patch, a number":       {patched("/spec/resources/disk", "1e99999"), false, invalid},
		"as the spec, by a JSON patch":    {patched("/spec", `{"resources":{"disk":"1e99999"}}`), false, invalid},
		"copied by a JSON patch":          {`[{"op":"copy","from":"/metadata/annotations/x","path":"/spec/resources/disk"}]`, false, invalid},
		"moved by a JSON patch":           {`[{"path":"/spec/resources/disk","op":"move","from":"/metadata/annotations/resources"}]`, false, invalid},
		"moved as a whole":                {`[{"op":"move","from":"/x","path":"z/spec"}]`, false, invalid},
		"after the spec was moved":        {`[{"op":"move","from":"/spec","path":"/s"}]`, false, invalid},
		"as the whole document":           {patched("", quantity(`"1e99999"`)), false, invalid},
		"moved annotations":               {`[{"op":"move","from":"/metadata/annotations/a","path":"/metadata/annotations/resources-e2024"}]`, false, none},
		"many moves":                      {repeated(`{"op":"move","from":"/a/b","path":"/c/d"}`, maxMoves+1), false, tooLarge},
		"a long path":                     {patched(strings.Repeat("/a", maxNesting+1), "1"), false, tooLarge},
		"an annotation like a member":     {patched("/metadata/annotations/resources.example.com~1sum", `"e100"`), false, none},
		"a JSON patch, text elsewhere":    {patched("/spec/source/ref/branch", `"e2024"`), false, none},
		"a JSON patch, digits elsewhere":  {patched("/spec/pin", `"`+strings.Repeat("1", 70)+`"`), false, none},
		"within a JSON patch":             {`[{"op":"add","path":"/spec","value":` + quantity(`"1e99999"`) + `}]`, false, invalid},
		"as YAML":                         {"spec:\n  resources:\n    disk: 1e99999\n", true, invalid},
		"as YAML, in binary":              {"spec:\n  resources:\n    disk: !!binary MWU5OTk5OQ==\n", true, invalid},
		"as protobuf":                     {unknown("1e99999", limit...), false, invalid},
		"as protobuf, before an error":    {unknown("1e99999", limit...) + "\xff", false, invalid},
		"as protobuf, small":              {unknown("1e9", limit...), false, none},
		"as protobuf, of v1alpha1":        {unknown(quantity(`"1e99999"`), annotation...), false, invalid},
		"as protobuf, text elsewhere":     {unknown("1e99999", annotation...), false, none},
		"as protobuf, a name":             {unknown("e2024", specNumber, 9), false, none},
		"as protobuf, in the status":      {unknown("e2024", 3, 9), false, none},
		"as protobuf, after a long tag":   {"k8s\x00" + longTag + unknown("1e99999", limit...)[4:], false, invalid},
		"as protobuf, a long length":      {"k8s\x00" + longLength + unknown("1e99999", limit...)[4:], false, invalid},
		"as protobuf, after other fields": {unknown("\x08\x01\x0d\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x7b\x7c" + string(inProtobuf([]byte("1e99999"), limit...))), false, invalid},
		"merged owner references":         {merged(inProtobuf(nil, ownerReferencesNumber), metadataNumber, maxOwnerReferences+1), false, tooLarge},
		"merged items":                    {merged([]byte(strings.Repeat("\x0a\x00", maxItems)), specNumber, 11), false, tooLarge},
		"as protobuf, a list":             {"k8s\x00" + string(inProtobuf([]byte("WebsiteList"), typeNumber, kindNumber)), false, invalid},
		"as protobuf, many groups":        {unknown(strings.Repeat("\x13", maxResources), specNumber, resourcesNumber, 3), false, tooLarge},
		"as protobuf, managed fields":     {unknown("{"+members(maxItems+1)+"}", metadataNumber, managedFieldsNumber, fieldsNumber, fieldsJSONNumber), false, tooLarge},
		"as protobuf, text like messages": {unknown(strings.Repeat("x", 200<<10), annotation...), false, none},
		"as protobuf, many items":         {"k8s\x00" + string(inProtobuf([]byte(strings.Repeat("\x0a\x00", maxItems+1)), rawNumber, 2, 9)), false, tooLarge},
		"a label":                         {`{"metadata":{"labels":{"resources":"e2024"}}}`, false, none},
		"text elsewhere":                  {`{"spec":{"pin":"1e99999","serving":{"headers":[{"value":"1e99999"}]}}}`, false, none},
		"owner references":                {`{"metadata":{"ownerReferences":` + repeated("{}", maxOwnerReferences) + `}}`, false, none},
		"too many owner references":       {`{"metadata":{"ownerReferences":` + repeated("{}", maxOwnerReferences+1) + `}}`, false, tooLarge},
		"the same as protobuf":            {references(maxOwnerReferences + 1), false, tooLarge},
		"as many as may be, as protobuf":  {references(maxOwnerReferences), false, none},
		"by operations of a JSON patch":   {repeated(`{"op":"add","path":"/metadata/ownerReferences/-","value":{}}`, maxOwnerReferences+1), false, tooLarge},
		"by a list in a JSON patch":       {patched("/metadata/ownerReferences", repeated("{}", maxOwnerReferences+1)), false, tooLarge},
		"a short list in a JSON patch":    {patched("/metadata/ownerReferences", repeated("{}", maxOwnerReferences)), false, none},
		"moved to owner references":       {`[{"op":"move","from":"/a","path":"/metadata/ownerReferences"}]`, false, invalid},
		"a long list in a JSON patch":     {patched("/spec/serving/redirects", repeated("{}", maxOwnerReferences+1)), false, none},
		"nested":                          {strings.Repeat("[", maxNesting+1), false, tooLarge},
		"nested in text":                  {inAnnotation(`{"a":` + strings.Repeat("[", maxNesting)), false, tooLarge},
		"as nested as may be":             {strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting), false, none},
		"many items":                      {`{"spec":{"scheduling":{"tolerations":` + repeated("{}", maxItems+1) + `}}}`, false, tooLarge},
		"many members":                    {`{"metadata":{"annotations":{` + members(maxItems+1) + `}}}`, false, tooLarge},
		"as many members as may be":       {`{"metadata":{"annotations":{` + members(maxItems) + `}}}`, false, none},
		"aliases":                         {anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", true, tooLarge},
		"few aliases":                     {anchor + "b: [*a, *a]\n", true, none},
		"aliases of aliases":              {anchor + "b: &b [*a,*a,*a]\nc: [*b,*b,*b]\n", true, tooLarge},
		"merged aliases":                  {"a: &a {b: " + strings.Repeat("x", 5000) + "}\nc: {<<: *a}\n", true, tooLarge},
		"an alias of itself":              {"a: &a [*a]\n", true, tooLarge},
		"an alias in a large document":    {"b: [" + strings.Repeat("x,", maxExpanded) + "x]\nc: &c y\nd: *c\n", true, tooLarge},
		"characters of aliases, in JSON":  {`{"a":"https://example.com/?a&b","c":"*"}`, true, none},
		"characters of aliases, not YAML": {"a: &\nb: *\n", true, invalid},
		"what is not decoded as YAML":     {anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", false, none},
		"nothing":                         {"", false, none},
		"what is no JSON":                 {"]", false, none},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Check([]byte(test.body), test.isYAML)
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
			if err := Check([]byte(document), true); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	body := []byte(`{"apiVersion":"v1","metadata":{"name":"site"},"spec":{"source":{"repository":"https://git.example.com/site.git"},"resources":{"server":{"requests":{"cpu":"10m","memory":"16Mi"},"limits":{"memory":"64Mi"}}},"serving":{"redirects":` + repeated(`{"from":"/a","to":"/b","code":302}`, 10) + `}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(body, false); err != nil {
			b.Fatal(err)
		}
	}
}
