package website

import (
	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// keepManagedFieldsInV1beta1 translates the managed fields of a request in
// v1alpha1: those that its client has read, and those that the field manager of
// k8s.io/apiserver has added. Upstream stores them in the version of the request.
// pkg/apis/website/v1alpha1/managedfields.go explains why that fails for a Website.
func keepManagedFieldsInV1beta1(w *website.Website) {
	w.ManagedFields = v1alpha1.ManagedFieldsInV1beta1(w.ManagedFields)
}
