package install_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website/fuzzer"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
)

// TestRoundTripTypes converts fuzzed Websites to every served version and back
// through every encoding; nothing may be lost.
func TestRoundTripTypes(t *testing.T) {
	roundtrip.RoundTripTestForAPIGroup(t, func(scheme *runtime.Scheme) {
		if err := install.Install(scheme); err != nil {
			t.Fatalf("installing the API group: %v", err)
		}
	}, fuzzer.Funcs)
}
