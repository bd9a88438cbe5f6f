// Package fuzzer fills Websites with random but legal values, for the tests
// that convert and serialize them.
package fuzzer

import (
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// Funcs returns the fuzzing functions of the API group.
func Funcs(codecs serializer.CodecFactory) []any {
	return []any{
		func(s *website.WebsiteSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			// Defaulting never leaves it unset, so a round trip cannot keep nil.
			if s.Replicas == nil {
				replicas := c.Int31()
				s.Replicas = &replicas
			}
		},
	}
}
