package encoding

import (
	"bytes"
	"errors"
	"math/rand"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/randfill"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	websitefuzzer "github.com/kubesites/website-apiserver/pkg/apis/website/fuzzer"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var versions = []schema.GroupVersion{v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion}

// newSerializers returns the serializer of k8s.io/apiserver, and the one of this package.
func newSerializers(t testing.TB) (stock, ours runtime.NegotiatedSerializer) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	info := genericapiserver.NewDefaultAPIGroupInfo(website.GroupName, scheme, runtime.NewParameterCodec(scheme),
		serializer.NewCodecFactory(scheme))
	return info.NegotiatedSerializer, NewNegotiatedSerializer(info.NegotiatedSerializer)
}

func encoderFor(t testing.TB, codecs runtime.NegotiatedSerializer, mediaType string,
	version schema.GroupVersion) runtime.Encoder {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("%s is not supported", mediaType)
	}
	return codecs.EncoderForVersion(info.Serializer, version)
}

// fieldSets are sets of fields: usual and unusual ones, and some that cannot be encoded.
var fieldSets = []string{
	``, `{}`, `{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}`,
	`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{}}}}}`,
	`{"f:spec": {}}`, `{"f:a<b>&c":{}}`, `{"f:ü":{}}`, "{\"f:\u2028\":{}}", "{\"f:\xff\":{}}", `{"f:\u0061\n":{}}`,
	`{"f:a":null,"f:b":[1]}`, `{"f:\\\"fieldsV1\":null":{}}`,
	`{`, `{}}`, `{"f:a"}`, `null`,
}

// newFuzzed returns a function that makes Websites with random fields and managed fields.
func newFuzzed(t *testing.T) func() website.Website {
	t.Helper()
	seed := rand.Int63()
	t.Logf("random seed: %d", seed)
	random := rand.New(rand.NewSource(seed))
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, websitefuzzer.Funcs), random,
		serializer.CodecFactory{})
	return func() website.Website { return fuzzed(filler, random) }
}

func fuzzed(filler *randfill.Filler, random *rand.Rand) website.Website {
	var w website.Website
	filler.Fill(&w)
	w.TypeMeta = metav1.TypeMeta{}
	// Half of them have usual sets only.
	choices := fieldSets[1:4]
	if random.Intn(2) == 0 {
		choices = fieldSets
	}
	w.ManagedFields = nil
	for range random.Intn(4) {
		var entry metav1.ManagedFieldsEntry
		filler.Fill(&entry)
		entry.FieldsV1 = nil
		if random.Intn(4) > 0 {
			entry.FieldsV1 = metav1.NewFieldsV1(choices[random.Intn(len(choices))])
		}
		entry.APIVersion = versions[random.Intn(2)].String()
		w.ManagedFields = append(w.ManagedFields, entry)
	}
	if random.Intn(4) == 0 {
		w.Annotations = map[string]string{"example.com/odd": `"fieldsV1":null,"managedFields":[{}]` + "<\u2028\xff"}
	}
	return w
}

// outcome is the encoding of an object, or the error.
type outcome struct{ written, err string }

func encoded(encoder runtime.Encoder, object runtime.Object) outcome {
	var w bytes.Buffer
	err := encoder.Encode(object, &w)
	if err != nil {
		return outcome{w.String(), err.Error()}
	}
	return outcome{written: w.String()}
}

// TestSameBytes compares with the encoder of k8s.io/apiserver, for random Websites in each
// version and media type.
func TestSameBytes(t *testing.T) {
	stock, ours := newSerializers(t)
	full := newFullSerializer(stock)
	next := newFuzzed(t)
	for round := range 100 {
		mediaTypes := []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}
		// YAML is made of the same JSON, in most of the time.
		if round%10 == 0 {
			mediaTypes = append(mediaTypes, runtime.ContentTypeYAML)
		}
		single := next()
		objects := map[string]runtime.Object{
			"single":     &single,
			"nil list":   &website.WebsiteList{},
			"empty list": &website.WebsiteList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []website.Website{}},
			"list of one": &website.WebsiteList{ListMeta: metav1.ListMeta{ResourceVersion: "1"},
				Items: []website.Website{next()}},
			"page": &website.WebsiteList{ListMeta: metav1.ListMeta{ResourceVersion: "1", Continue: "<next>",
				RemainingItemCount: ptr.To[int64](7)}, Items: []website.Website{next(), next(), next()}},
			"status": &metav1.Status{Status: metav1.StatusFailure},
		}
		for name, object := range objects {
			untouched := object.DeepCopyObject()
			for _, version := range versions {
				for _, mediaType := range mediaTypes {
					want := encoded(encoderFor(t, stock, mediaType, version), object)
					for _, from := range []struct {
						name   string
						codecs runtime.NegotiatedSerializer
					}{{"the object", ours}, {"the cache", ours}, {"the object, with a full cache", full}} {
						if got := encoded(encoderFor(t, from.codecs, mediaType, version), object); got != want {
							t.Fatalf("%s in %s as %s from %s is\n%q, want\n%q", name, version, mediaType, from.name, got, want)
						}
					}
				}
			}
			if !apiequality.Semantic.DeepEqual(object, untouched) {
				t.Fatalf("%s was changed", name)
			}
		}
	}
}

// newFullSerializer returns one whose cache has no room.
func newFullSerializer(stock runtime.NegotiatedSerializer) runtime.NegotiatedSerializer {
	full := NewNegotiatedSerializer(stock)
	full.(*negotiated).cache.limit = 0
	return full
}

// heapAt notes the heap at the first large write.
type heapAt struct{ bytes uint64 }

func (h *heapAt) Write(p []byte) (int, error) {
	if h.bytes == 0 && len(p) > 1<<10 {
		h.bytes = heapInUse()
	}
	return len(p), nil
}

func heapInUse() uint64 {
	goruntime.GC()
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestLargeListIsNotInMemory: objects that the cache does not keep are encoded one by one.
func TestLargeListIsNotInMemory(t *testing.T) {
	stock, _ := newSerializers(t)
	const objects, size = 256, 256 << 10
	list := newServedList(objects)
	large := strings.Repeat("x", size)
	for i := range list.Items {
		list.Items[i].Annotations = map[string]string{"example.com/large": large}
	}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		encoder := encoderFor(t, newFullSerializer(stock), mediaType, v1beta1.SchemeGroupVersion)
		before, during := heapInUse(), &heapAt{}
		if err := encoder.Encode(list, during); err != nil {
			t.Fatal(err)
		}
		if grown := int64(during.bytes) - int64(before); during.bytes == 0 || grown > objects*size/4 {
			t.Errorf("%s: %d MiB of heap more when the first of %d MiB is written", mediaType, grown>>20, objects*size>>20)
		}
	}
	goruntime.KeepAlive(list)
}

func TestPrettyIsPretty(t *testing.T) {
	_, ours := newSerializers(t)
	info, _ := runtime.SerializerInfoForMediaType(ours.SupportedMediaTypes(), runtime.ContentTypeJSON)
	got := encoded(ours.EncoderForVersion(info.PrettySerializer, v1beta1.SchemeGroupVersion), newServedList(1))
	if !strings.Contains(got.written, "\n  \"items\": [\n") {
		t.Errorf("got %q, want indented JSON", got)
	}
}

// writes records writes, and fails after some.
type writes struct {
	sizes []int
	first string
	until int
}

var errGone = errors.New("the client is gone")

func (w *writes) Write(p []byte) (int, error) {
	if len(w.sizes) == 0 {
		w.first = string(p)
	}
	w.sizes = append(w.sizes, len(p))
	if w.until > 0 && len(w.sizes) >= w.until {
		return 0, errGone
	}
	return len(p), nil
}

// TestWrites: a response is compressed if its first write is large, or if it begins with a
// short one and becomes large.
func TestWrites(t *testing.T) {
	_, ours := newSerializers(t)
	encoder := encoderFor(t, ours, runtime.ContentTypeJSON, v1beta1.SchemeGroupVersion)
	single := newServed(0)
	one := &writes{}
	if err := encoder.Encode(&single, one); err != nil || len(one.sizes) != 1 {
		t.Errorf("a Website takes writes of %d bytes, error %v; want a single one", one.sizes, err)
	}
	many := &writes{}
	const objects = 10
	if err := encoder.Encode(newServedList(objects), many); err != nil {
		t.Fatal(err)
	}
	if many.first != "{" || len(many.sizes) != objects+3 {
		t.Errorf("a list of %d takes %d writes and begins with %q, want one for each object, and %q", objects,
			len(many.sizes), many.first, "{")
	}
	gone := &writes{until: 5}
	if err := encoder.Encode(newServedList(objects), gone); !errors.Is(err, errGone) || len(gone.sizes) != gone.until {
		t.Errorf("error %v after %d writes, want %v after %d", err, len(gone.sizes), errGone, gone.until)
	}
}

// TestConcurrentLists encodes the same objects, as the watch cache shares them.
func TestConcurrentLists(t *testing.T) {
	stock, ours := newSerializers(t)
	list := newServedList(20)
	var clients sync.WaitGroup
	for _, format := range formats {
		want := encoded(encoderFor(t, stock, format.mediaType, format.version), list)
		for range 4 {
			clients.Go(func() {
				for range 20 {
					if got := encoded(encoderFor(t, ours, format.mediaType, format.version), list); got != want {
						t.Errorf("another list than alone")
						return
					}
				}
			})
		}
	}
	clients.Wait()
}
