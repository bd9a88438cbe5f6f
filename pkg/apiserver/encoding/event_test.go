package encoding

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// event encodes an object and an event with it, as a watch does.
func event(t testing.TB, codecs runtime.NegotiatedSerializer, version schema.GroupVersion, eventType watch.EventType,
	object runtime.Object) string {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	var embedded, w bytes.Buffer
	if err := codecs.EncoderForVersion(info.Serializer, version).Encode(object, &embedded); err != nil {
		t.Fatal(err)
	}
	stream := codecs.EncoderForVersion(info.StreamSerializer.Serializer, version)
	if err := stream.Encode(
		&metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: embedded.Bytes()}}, &w,
	); err != nil {
		t.Fatal(err)
	}
	return w.String()
}

func TestSameEvents(t *testing.T) {
	stock, ours := newSerializers(t)
	single, odd := newServed(0), newServed(1)
	odd.Annotations = map[string]string{"example.com/odd": "<\u2028\xff}\n"}
	for _, version := range versions {
		for eventType, object := range map[watch.EventType]runtime.Object{watch.Added: &single, watch.Modified: &odd,
			watch.Error: &metav1.Status{Status: metav1.StatusFailure}, "<odd>": &single} {
			got, want := event(t, ours, version, eventType, object), event(t, stock, version, eventType, object)
			if got != want {
				t.Errorf("%s in %s is\n%q, want\n%q", eventType, version, got, want)
			}
		}
	}
}

// TestUnknownObjectOfEvent: only the output of an encoder is sent as it is.
func TestUnknownObjectOfEvent(t *testing.T) {
	stock, ours := newSerializers(t)
	for _, raw := range []string{"", "null", "{}", `{ "a": 1 }`, "{}\n ", "[]\n", "{"} {
		of := func(codecs runtime.NegotiatedSerializer) outcome {
			info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
			return encoded(codecs.EncoderForVersion(info.StreamSerializer.Serializer, versions[0]),
				&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: []byte(raw)}})
		}
		if got, want := of(ours), of(stock); got != want {
			t.Errorf("an event with %q is %q, want %q", raw, got, want)
		}
	}
}

// BenchmarkEvent encodes a Website and its event.
func BenchmarkEvent(b *testing.B) {
	stock, ours := newSerializers(b)
	single := newServed(0)
	for _, version := range versions {
		for server, codecs := range map[string]runtime.NegotiatedSerializer{"apiserver": stock, "encoding": ours} {
			b.Run(version.Version+"/"+server, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					event(b, codecs, version, watch.Added, &single)
				}
			})
		}
	}
}
