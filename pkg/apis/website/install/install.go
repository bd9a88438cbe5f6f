// Package install registers every version of the API group with a scheme, in
// the order in which clients should prefer them.
package install

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Install registers the internal and all versioned types with scheme. It
// returns an error when a type or function was registered differently before.
func Install(scheme *runtime.Scheme) error {
	return errors.Join(
		website.AddToScheme(scheme),
		v1alpha1.AddToScheme(scheme),
		v1beta1.AddToScheme(scheme),
		scheme.SetVersionPriority(v1beta1.SchemeGroupVersion, v1alpha1.SchemeGroupVersion),
	)
}
