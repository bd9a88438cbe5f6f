package website

import (
	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// keepManagedFieldsInV1beta1 translates the managed fields that a request in
// v1alpha1 has added. The field manager of k8s.io/apiserver adds them after
// conversion and before the strategy, in the version of the request, and upstream
// stores them in that version. pkg/apis/website/v1alpha1/managedfields.go
// explains why that fails for a Website.
func keepManagedFieldsInV1beta1(w *website.Website) {
	w.ManagedFields = v1alpha1.ManagedFieldsInV1beta1(w.ManagedFields)
}
