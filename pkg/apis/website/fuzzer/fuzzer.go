// Package fuzzer fills Websites with random values, for tests of conversion and serialization.
package fuzzer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Funcs returns the fuzzing functions of the API group. They set any field, and always the defaulted ones and the
// kind of the source, because a round trip sets these.
func Funcs(serializer.CodecFactory) []any {
	return []any{
		func(spec *v1beta1.WebsiteSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			if spec.Source.Git == nil {
				spec.Source.Git = &v1beta1.GitSource{}
			}
			w := &v1beta1.Website{Spec: *spec}
			v1beta1.SetObjectDefaults_Website(w)
			*spec = w.Spec
		},
		// The library leaves pointers to times nil.
		func(t **metav1.Time, c randfill.Continue) {
			if *t = nil; c.Bool() {
				*t = &metav1.Time{}
				c.Fill(*t)
			}
		},
	}
}
