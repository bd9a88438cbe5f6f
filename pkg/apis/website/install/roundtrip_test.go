package install_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website/fuzzer"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
)

// TestRoundTripTypes converts fuzzed Websites to every served version and back
// through JSON, YAML, CBOR and protobuf; nothing may be lost.
func TestRoundTripTypes(t *testing.T) {
	mustInstall := func(scheme *runtime.Scheme) {
		if err := install.Install(scheme); err != nil {
			t.Fatalf("installing the API group: %v", err)
		}
	}
	roundtrip.RoundTripTestForAPIGroup(t, mustInstall, fuzzer.Funcs)
	roundtrip.RoundTripProtobufTestForAPIGroup(t, mustInstall, fuzzer.Funcs)
}
