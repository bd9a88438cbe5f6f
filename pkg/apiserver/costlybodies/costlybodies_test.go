package costlybodies

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
	"k8s.io/apimachinery/pkg/util/sets"

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
	managed := func(entries string) string { return `{"metadata":{"managedFields":` + entries + `}}` }
	// half has half of the members that managed fields may have, and as many more as entries have.
	half := `{"fieldsV1":{` + members(maxManagedMembers/2-1) + `}}`
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
		format Format
		want   int32
	}{
		"a quantity":                      {quantity(`"100m"`), JSON, none},
		"an exponent":                     {quantity(`"1e3"`), JSON, none},
		"a large exponent":                {quantity(`"1e2147483646"`), JSON, invalid},
		"a small exponent":                {quantity(`"1E-2147483640"`), JSON, invalid},
		"an exponent that is valid":       {quantity(`"1e+300"`), JSON, invalid},
		"escaped":                         {quantity(`"\u0031e99999"`), JSON, invalid},
		"between spaces":                  {quantity(`" 1e99999 "`), JSON, invalid},
		"a number":                        {quantity(`1e99999`), JSON, invalid},
		"many digits":                     {quantity(`"` + strings.Repeat("9", 100000) + `Ki"`), JSON, invalid},
		"followed by what is no JSON":     {quantity(`"1e99999"`) + "x", JSON, invalid},
		"of v1alpha1":                     {inAnnotation(quantity(`"1e99999"`)), JSON, invalid},
		"of v1alpha1, small":              {inAnnotation(quantity(`"1e9"`)), JSON, none},
		"by a JSON patch":                 {`[{"op":"replace","path":"/spec/storage/sizeLimit","value":"1e99999"}]`, JSON, invalid},
		"by a JSON patch, the path last":  {patched("/spec/storage/sizeLimit", `"1e99999"`), JSON, invalid},
		"by a JSON patch, in an object":   {patched("/spec/resources/server", `{"limits":{"cpu":"1e99999"}}`), JSON, invalid},
		"by a JSON patch, a number":       {patched("/spec/storage/sizeLimit", "1e99999"), JSON, invalid},
		"as the spec, by a JSON patch":    {patched("/spec", `{"storage":{"sizeLimit":"1e99999"}}`), JSON, invalid},
		"copied by a JSON patch":          {`[{"op":"copy","from":"/metadata/annotations/x","path":"/spec/storage/sizeLimit"}]`, JSON, invalid},
		"moved by a JSON patch":           {`[{"path":"/spec/storage/sizeLimit","op":"move","from":"/metadata/annotations/resources"}]`, JSON, invalid},
		"moved as a whole":                {`[{"op":"move","from":"/x","path":"z/spec"}]`, JSON, invalid},
		"after the spec was moved":        {`[{"op":"move","from":"/spec","path":"/s"}]`, JSON, invalid},
		"as the whole document":           {patched("", quantity(`"1e99999"`)), JSON, invalid},
		"moved annotations":               {`[{"op":"move","from":"/metadata/annotations/a","path":"/metadata/annotations/resources-e2024"}]`, JSON, none},
		"many moves":                      {repeated(`{"op":"move","from":"/a/b","path":"/c/d"}`, maxMoves+1), JSON, tooLarge},
		"a long path":                     {patched(strings.Repeat("/a", maxNesting+1), "1"), JSON, tooLarge},
		"an annotation like a member":     {patched("/metadata/annotations/resources.example.com~1sum", `"e100"`), JSON, none},
		"a JSON patch, text elsewhere":    {patched("/spec/source/git/ref/branch", `"e2024"`), JSON, none},
		"a JSON patch, digits elsewhere":  {patched("/spec/pin", `"`+strings.Repeat("1", 70)+`"`), JSON, none},
		"within a JSON patch":             {`[{"op":"add","path":"/spec","value":` + quantity(`"1e99999"`) + `}]`, JSON, invalid},
		"as YAML":                         {"spec:\n  storage:\n    sizeLimit: 1e99999\n", YAML, invalid},
		"as YAML, in binary":              {"spec:\n  storage:\n    sizeLimit: !!binary MWU5OTk5OQ==\n", YAML, invalid},
		"as protobuf":                     {unknown("1e99999", limit...), JSON, invalid},
		"of the storage":                  {`{"spec":{"storage":{"sizeLimit":"1e99999"}}}`, JSON, invalid},
		"of the storage, as protobuf":     {unknown("1e99999", specNumber, storageNumber, 1, 1), JSON, invalid},
		"as protobuf, before an error":    {unknown("1e99999", limit...) + "\xff", JSON, invalid},
		"as protobuf, small":              {unknown("1e9", limit...), JSON, none},
		"as protobuf, of v1alpha1":        {unknown(quantity(`"1e99999"`), annotation...), JSON, invalid},
		"as protobuf, text elsewhere":     {unknown("1e99999", annotation...), JSON, none},
		"as protobuf, a name":             {unknown("e2024", specNumber, 9), JSON, none},
		"as protobuf, in the status":      {unknown("e2024", 3, 9), JSON, none},
		"as protobuf, after a long tag":   {"k8s\x00" + longTag + unknown("1e99999", limit...)[4:], JSON, invalid},
		"as protobuf, a long length":      {"k8s\x00" + longLength + unknown("1e99999", limit...)[4:], JSON, invalid},
		"as protobuf, after other fields": {unknown("\x08\x01\x0d\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x7b\x7c" + string(inProtobuf([]byte("1e99999"), limit...))), JSON, invalid},
		"merged owner references":         {merged(inProtobuf(nil, ownerReferencesNumber), metadataNumber, maxOwnerReferences+1), JSON, tooLarge},
		"merged items":                    {merged([]byte(strings.Repeat("\x0a\x00", maxItems)), specNumber, 11), JSON, tooLarge},
		"as protobuf, a list":             {"k8s\x00" + string(inProtobuf([]byte("WebsiteList"), typeNumber, kindNumber)), JSON, invalid},
		"as protobuf, many groups":        {unknown(strings.Repeat("\x13", maxQuantities), specNumber, resourcesNumber, 3), JSON, tooLarge},
		"as protobuf, managed fields":     {unknown("{"+members(maxItems+1)+"}", metadataNumber, managedFieldsNumber, fieldsNumber, fieldsJSONNumber), JSON, tooLarge},
		"as protobuf, text like messages": {unknown(strings.Repeat("x", 200<<10), annotation...), JSON, none},
		"as protobuf, many items":         {"k8s\x00" + string(inProtobuf([]byte(strings.Repeat("\x0a\x00", maxItems+1)), rawNumber, 2, 9)), JSON, tooLarge},
		"the same in the storage":         {unknown(strings.Repeat("\x13", maxQuantities), specNumber, storageNumber, 1), JSON, tooLarge},
		"a label":                         {`{"metadata":{"labels":{"resources":"e2024"}}}`, JSON, none},
		"text elsewhere":                  {`{"spec":{"pin":{"commit":"1e99999"},"serving":{"headers":[{"value":"1e99999"}]}}}`, JSON, none},
		"owner references":                {`{"metadata":{"ownerReferences":` + repeated("{}", maxOwnerReferences) + `}}`, JSON, none},
		"too many owner references":       {`{"metadata":{"ownerReferences":` + repeated("{}", maxOwnerReferences+1) + `}}`, JSON, tooLarge},
		"the same as protobuf":            {references(maxOwnerReferences + 1), JSON, tooLarge},
		"as many as may be, as protobuf":  {references(maxOwnerReferences), JSON, none},
		"by operations of a JSON patch":   {repeated(`{"op":"add","path":"/metadata/ownerReferences/-","value":{}}`, maxOwnerReferences+1), JSON, tooLarge},
		"by a list in a JSON patch":       {patched("/metadata/ownerReferences", repeated("{}", maxOwnerReferences+1)), JSON, tooLarge},
		"a short list in a JSON patch":    {patched("/metadata/ownerReferences", repeated("{}", maxOwnerReferences)), JSON, none},
		"moved to owner references":       {`[{"op":"move","from":"/a","path":"/metadata/ownerReferences"}]`, JSON, invalid},
		"a long list in a JSON patch":     {patched("/spec/serving/redirects", repeated("{}", maxOwnerReferences+1)), JSON, none},
		"managed fields":                  {managed(repeated("{}", maxManagedFields)), JSON, none},
		"too many managed fields":         {managed(repeated("{}", maxManagedFields+1)), JSON, tooLarge},
		"too many of them as YAML":        {"metadata:\n  managedFields:\n" + strings.Repeat("  - {}\n", maxManagedFields+1), YAML, tooLarge},
		"as many of them, as protobuf":    {managedProtobuf("{}", maxManagedFields), JSON, none},
		"too many of them, as protobuf":   {managedProtobuf("{}", maxManagedFields+1), JSON, tooLarge},
		"too many, merged as protobuf":    {merged(inProtobuf(nil, managedFieldsNumber), metadataNumber, maxManagedFields+1), JSON, tooLarge},
		"too many, by a JSON patch":       {patched("/metadata/managedFields", repeated("{}", maxManagedFields+1)), JSON, tooLarge},
		"too many, in the metadata":       {patched("/metadata", `{"managedFields":`+repeated("{}", maxManagedFields+1)+`}`), JSON, tooLarge},
		"too many, by operations":         {repeated(`{"op":"add","path":"/metadata/managedFields/-","value":{}}`, maxManagedFields+1), JSON, tooLarge},
		"moved to managed fields":         {`[{"op":"move","from":"/a","path":"/metadata/managedFields"}]`, JSON, invalid},
		"members of managed fields":       {managed(repeated(half, 2)), JSON, none},
		"too many members of them":        {managed(repeated(half, 3)), JSON, tooLarge},
		"too many, as protobuf":           {managedProtobuf("{"+members(maxManagedMembers/2)+"}", 3), JSON, tooLarge},
		"as many members, as protobuf":    {managedProtobuf("{"+members(maxManagedMembers/2)+"}", 2), JSON, none},
		"too many members, a JSON patch":  {patched("/metadata/managedFields", repeated(half, 3)), JSON, tooLarge},
		"members elsewhere":               {patched("/spec", repeated("{"+members(maxItems)+"}", 3)), JSON, none},
		"merged lists":                    {`{"metadata":{"finalizers":` + repeated(`"a"`, maxMerged) + `},"status":{"conditions":` + repeated("{}", maxMerged) + `}}`, StrategicMergePatch, none},
		"too many merged finalizers":      {`{"metadata":{"finalizers":` + repeated(`"a"`, maxMerged+1) + `}}`, StrategicMergePatch, tooLarge},
		"too many merged conditions":      {`{"status":{"conditions":` + repeated("{}", maxMerged+1) + `}}`, StrategicMergePatch, tooLarge},
		"too many merged hosts":           {`{"spec":{"hosts":` + repeated("{}", maxMerged+1) + `}}`, StrategicMergePatch, tooLarge},
		"an order of items":               {ordered("finalizers", repeated(`"a"`, maxMerged)), StrategicMergePatch, none},
		"an order of too many items":      {ordered("hosts", repeated(`"a"`, maxMerged+1)), StrategicMergePatch, tooLarge},
		"an order with an escape":         {strings.Replace(ordered("hosts", repeated(`"a"`, maxMerged+1)), "$", `\u0024`, 1), StrategicMergePatch, tooLarge},
		"finalizers that are replaced":    {`{"metadata":{"finalizers":` + repeated(`"a"`, maxMerged+1) + `}}`, JSON, none},
		"a list that is replaced":         {`{"spec":{"serving":{"redirects":` + repeated("{}", maxMerged+1) + `}}}`, StrategicMergePatch, none},
		"nested":                          {strings.Repeat("[", maxNesting+1), JSON, tooLarge},
		"nested in text":                  {inAnnotation(`{"a":` + strings.Repeat("[", maxNesting)), JSON, tooLarge},
		"as nested as may be":             {strings.Repeat("[", maxNesting) + strings.Repeat("]", maxNesting), JSON, none},
		"many items":                      {`{"spec":{"scheduling":{"tolerations":` + repeated("{}", maxItems+1) + `}}}`, JSON, tooLarge},
		"many members":                    {`{"metadata":{"annotations":{` + members(maxItems+1) + `}}}`, JSON, tooLarge},
		"as many members as may be":       {`{"metadata":{"annotations":{` + members(maxItems) + `}}}`, JSON, none},
		"aliases":                         {anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", YAML, tooLarge},
		"few aliases":                     {anchor + "b: [*a, *a]\n", YAML, none},
		"aliases of aliases":              {anchor + "b: &b [*a,*a,*a]\nc: [*b,*b,*b]\n", YAML, tooLarge},
		"merged aliases":                  {"a: &a {b: " + strings.Repeat("x", 5000) + "}\nc: {<<: *a}\n", YAML, tooLarge},
		"an alias of itself":              {"a: &a [*a]\n", YAML, tooLarge},
		"an alias in a large document":    {"b: [" + strings.Repeat("x,", maxExpanded) + "x]\nc: &c y\nd: *c\n", YAML, tooLarge},
		"characters of aliases, in JSON":  {`{"a":"https://example.com/?a&b","c":"*"}`, YAML, none},
		"characters of aliases, not YAML": {"a: &\nb: *\n", YAML, invalid},
		"what is not decoded as YAML":     {anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", JSON, none},
		"nothing":                         {"", JSON, none},
		"what is no JSON":                 {"]", JSON, none},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Check([]byte(test.body), test.format)
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
	checked := map[string]int{resources: resourcesNumber, storage: storageNumber}
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
		number := checked[name]
		if has(field.Type) != (number != 0) || number != 0 && !strings.HasPrefix(field.Tag.Get("protobuf"), fmt.Sprintf("bytes,%d,", number)) {
			t.Errorf("the quantities of %s are checked as those of the field %d, but it has %t, %s", name, number, has(field.Type), field.Tag.Get("protobuf"))
		}
	}
	if alpha := reflect.TypeFor[v1alpha1.WebsiteSpec](); has(alpha) {
		t.Errorf("%s has quantities, which are not checked", alpha)
	}
}

// TestMergedLists: a strategic merge patch merges no lists but those that are limited.
func TestMergedLists(t *testing.T) {
	seen := map[reflect.Type]bool{}
	merged := sets.New[string]()
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			member := of.Field(i)
			if strings.Contains(member.Tag.Get("patchStrategy"), "merge") {
				name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
				merged.Insert(name)
			}
			visit(member.Type)
		}
	}
	visit(reflect.TypeFor[v1beta1.Website]())
	visit(reflect.TypeFor[v1alpha1.Website]())
	merged.Delete(ownerReferences)
	if merged.Len() == 0 {
		t.Error("no list is merged, want finalizers and conditions")
	}
	for name := range merged {
		if !isMerged(name) {
			t.Errorf("a strategic merge patch merges %s, which are not limited", name)
		}
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
			if err := Check([]byte(document), YAML); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	body := []byte(`{"apiVersion":"v1","metadata":{"name":"site"},"spec":{"source":{"git":{"repository":"https://git.example.com/site.git"}},"resources":{"server":{"requests":{"cpu":"10m","memory":"16Mi"},"limits":{"memory":"64Mi"}}},"serving":{"redirects":` + repeated(`{"from":"/a","to":"/b","code":302}`, 10) + `}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(body, JSON); err != nil {
			b.Fatal(err)
		}
	}
}
