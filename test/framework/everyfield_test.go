package framework

import (
	"slices"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestEveryField fails for a new field of v1beta1 that EveryField lacks: clients are tested with its Websites.
func TestEveryField(t *testing.T) {
	if unset := UnsetFields(EveryField("default")); len(unset) > 0 {
		t.Errorf("EveryField does not set %q: add a value", unset)
	}
	unset := UnsetFields([]*v1beta1.Website{NewWebsite("default", "kubia", Detailed)})
	for path, want := range map[string]bool{
		"spec.source.git.repository": false, "spec.serving.redirects": false, "spec.serving.redirects.to": false,
		"spec.serving.redirects.statusCode": true, "spec.source.git.ref.tag": true, "spec.suspend": true,
		"spec.tls.issuerRef.name": true,
		"spec.resources.server":   true,
	} {
		if slices.Contains(unset, path) != want {
			t.Errorf("%s is unset: %t, want %t; all are %q", path, !want, want, unset)
		}
	}
}
