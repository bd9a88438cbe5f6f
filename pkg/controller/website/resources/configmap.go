package resources

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// nginxConfigKey is the key of the configuration in the ConfigMap, and the name
// of the file in the container.
const nginxConfigKey = "nginx.conf"

// ConfigMap builds the ConfigMap with the nginx configuration of a Website,
// which is what NginxConfig returned for it.
func ConfigMap(site *v1beta1.Website, nginxConfig string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(ConfigMapName(site), site.Namespace).
		WithLabels(supportLabels(site)).
		WithOwnerReferences(ownerReference(site)).
		WithData(map[string]string{nginxConfigKey: nginxConfig})
}
