package resources

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// nginxConfigKey is the key of the configuration in the ConfigMap, and the name
// of the file in the container.
const nginxConfigKey = "nginx.conf"

// ConfigMap builds the ConfigMap with the nginx configuration of a Website.
func ConfigMap(site *v1alpha1.Website) (*corev1ac.ConfigMapApplyConfiguration, error) {
	config, err := nginxConfig()
	if err != nil {
		return nil, err
	}
	return corev1ac.ConfigMap(ConfigMapName(site), site.Namespace).
		WithLabels(supportLabels(site)).
		WithOwnerReferences(ownerReference(site)).
		WithData(map[string]string{nginxConfigKey: config}), nil
}
