package encoding

import (
	"fmt"
	"io"
	"path"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// firstWrite records the time of the first write.
type firstWrite struct{ at time.Time }

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.at.IsZero() {
		w.at = time.Now()
	}
	return len(p), nil
}

// BenchmarkList encodes a list of 10,000 Websites. "first" encodes each object; "next" finds the encoded objects in the
// cache. The protobuf encoder computes the sizes of all objects before it writes the first byte.
func BenchmarkList(b *testing.B) {
	const objects = 10_000
	stock, _ := newSerializers(b)
	for _, version := range versions {
		for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			for _, which := range []string{"first", "next"} {
				b.Run(path.Join(which, version.Version, path.Base(mediaType)), func(b *testing.B) {
					var untilFirst time.Duration
					prepare := func() func() {
						list, encoder := newServedList(objects), encoderFor(b, NewNegotiatedSerializer(stock), mediaType, version)
						return func() {
							begin, first := time.Now(), &firstWrite{}
							if err := encoder.Encode(list, first); err != nil {
								b.Fatal(err)
							}
							untilFirst += first.at.Sub(begin)
						}
					}
					encode := prepare()
					encode()
					untilFirst = 0
					for b.Loop() {
						if which == "first" {
							b.StopTimer()
							encode = prepare()
							b.StartTimer()
						}
						encode()
					}
					b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/objects, "µs/object")
					b.ReportMetric(float64(untilFirst.Microseconds())/float64(b.N)/1000, "ms-to-first-byte")
				})
			}
		}
	}
}

// BenchmarkManagers encodes a Website with many field managers for the first time. Clients may create
// thousands of field managers, so the time per field manager must not grow with their number.
func BenchmarkManagers(b *testing.B) {
	stock, _ := newSerializers(b)
	for _, managers := range []int{100, 10_000} {
		for _, format := range formats {
			b.Run(path.Join(fmt.Sprint(managers), format.version.Version, path.Base(format.mediaType)), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					list := newServedList(1)
					list.Items[0].ManagedFields = nil
					for i := range managers {
						list.Items[0].ManagedFields = append(list.Items[0].ManagedFields, metav1.ManagedFieldsEntry{
							Manager: fmt.Sprint(i), Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
							FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:labels":{"f:l%d":{}}}}`, i)),
						})
					}
					encoder := encoderFor(b, NewNegotiatedSerializer(stock), format.mediaType, format.version)
					b.StartTimer()
					if err := encoder.Encode(list, io.Discard); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(managers), "ns/manager")
			})
		}
	}
}
