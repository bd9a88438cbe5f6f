package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The generated registration covers the types only; a scheme also needs the
// defaults and the field label conversions.
func init() {
	localSchemeBuilder.Register(RegisterDefaults, addFieldLabelConversions)
}

// SetDefaults_WebsiteResources rounds quantities up to thousandths, as Kubernetes
// does in pods. Otherwise the Deployment would never equal the spec.
func SetDefaults_WebsiteResources(resources *WebsiteResources) {
	for _, requirements := range []*corev1.ResourceRequirements{&resources.Server, &resources.Sync} {
		for _, quantities := range []corev1.ResourceList{requirements.Requests, requirements.Limits} {
			for name, quantity := range quantities {
				if !quantity.RoundUp(resource.Milli) {
					quantities[name] = quantity
				}
			}
		}
	}
}

// SetDefaults_WebsiteStorage rounds the limit up to whole bytes.
func SetDefaults_WebsiteStorage(storage *WebsiteStorage) {
	if storage.SizeLimit != nil {
		storage.SizeLimit.RoundUp(0)
	}
}
