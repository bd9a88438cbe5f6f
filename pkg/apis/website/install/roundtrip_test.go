package install_test

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/randfill"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	websitefuzzer "github.com/kubesites/website-apiserver/pkg/apis/website/fuzzer"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// rounds is the number of random objects in each test.
const rounds = 500

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatalf("installing the API group: %v", err)
	}
	return scheme
}

func newFiller(t *testing.T, scheme *runtime.Scheme) *randfill.Filler {
	t.Helper()
	seed := rand.Int63()
	t.Logf("random seed: %d", seed)
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, websitefuzzer.Funcs)
	return fuzzer.FuzzerFor(funcs, rand.NewSource(seed), serializer.NewCodecFactory(scheme))
}

// TestRoundTripTypes converts fuzzed Websites to every served version and back
// through JSON, YAML and protobuf without loss.
func TestRoundTripTypes(t *testing.T) {
	mustInstall := func(scheme *runtime.Scheme) {
		if err := install.Install(scheme); err != nil {
			t.Fatalf("installing the API group: %v", err)
		}
	}
	roundtrip.RoundTripTestForAPIGroup(t, mustInstall, websitefuzzer.Funcs)
	roundtrip.RoundTripProtobufTestForAPIGroup(t, mustInstall, websitefuzzer.Funcs)
}

// TestRoundTripThroughUnstructured encodes fuzzed Websites of the served versions
// in JSON and CBOR, decodes them as clients without the types do, and converts
// them back.
func TestRoundTripThroughUnstructured(t *testing.T) {
	scheme := newScheme(t)
	// The types of the machinery that are registered with every group have one form.
	withoutHub := sets.New[schema.GroupVersionKind]()
	for kind := range scheme.AllKnownTypes() {
		if !strings.HasPrefix(kind.Kind, "Website") {
			withoutHub.Insert(kind)
		}
	}
	roundtrip.RoundtripToUnstructured(t, scheme, websitefuzzer.Funcs, nil, withoutHub)
}

// TestConversionIsLossless converts from every version to every other and back,
// without serialization or defaults in between that could hide a loss.
func TestConversionIsLossless(t *testing.T) {
	scheme := newScheme(t)
	filler := newFiller(t, scheme)
	internal := website.SchemeGroupVersion
	tests := map[string]struct {
		start   func() runtime.Object
		through schema.GroupVersion
		end     schema.GroupVersion
	}{
		"hub through v1alpha1": {start: func() runtime.Object { return &website.Website{} },
			through: v1alpha1.SchemeGroupVersion, end: internal},
		"hub through v1beta1": {start: func() runtime.Object { return &website.Website{} },
			through: v1beta1.SchemeGroupVersion, end: internal},
		"v1alpha1 through hub": {start: func() runtime.Object { return &v1alpha1.Website{} }, through: internal,
			end: v1alpha1.SchemeGroupVersion},
		"v1beta1 through hub": {start: func() runtime.Object { return &v1beta1.Website{} }, through: internal,
			end: v1beta1.SchemeGroupVersion},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range rounds {
				original := test.start()
				filler.Fill(original)
				original.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
				untouched := original.DeepCopyObject()

				there, err := scheme.ConvertToVersion(original, test.through)
				if err != nil {
					t.Fatal(err)
				}
				back, err := scheme.ConvertToVersion(there, test.end)
				if err != nil {
					t.Fatal(err)
				}
				back.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
				if !apiequality.Semantic.DeepEqual(untouched, back) {
					t.Fatalf("conversion lost something (- before, + after):\n%s", diff.Diff(untouched, back))
				}
				if !apiequality.Semantic.DeepEqual(untouched, original) {
					t.Fatalf("conversion changed its input:\n%s", diff.Diff(untouched, original))
				}
			}
		})
	}
}

// TestEveryFieldTakesPartInRoundTrips fails when a field is added that the
// fuzzer never sets: a conversion without it would not be detected.
func TestEveryFieldTakesPartInRoundTrips(t *testing.T) {
	scheme := newScheme(t)
	filler := newFiller(t, scheme)
	set := map[string]bool{}
	for range rounds {
		w := &website.Website{}
		filler.Fill(w)
		markSet(set, "spec", reflect.ValueOf(w.Spec))
		markSet(set, "status", reflect.ValueOf(w.Status))
	}
	if len(set) < 100 {
		t.Errorf("%d fields, want all of a Website", len(set))
	}
	for path, seen := range set {
		if !seen {
			t.Errorf("%s is never set by the fuzzer", path)
		}
	}
}

// markSet records for each field of our own types below value whether it was
// ever other than zero.
func markSet(set map[string]bool, path string, value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			markSet(set, path, value.Elem())
		}
	case reflect.Slice:
		for i := range value.Len() {
			markSet(set, path+"[]", value.Index(i))
		}
	case reflect.Struct:
		if value.Type().PkgPath() != reflect.TypeFor[v1beta1.Website]().PkgPath() {
			return
		}
		for i := range value.NumField() {
			name := path + "." + value.Type().Field(i).Name
			set[name] = set[name] || !value.Field(i).IsZero()
			markSet(set, name, value.Field(i))
		}
	}
}
