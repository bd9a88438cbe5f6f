package resources

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// The keys of the ConfigMap are the names of the files in the container.
const (
	// nginxConfigKey is the configuration.
	nginxConfigKey = "nginx.conf"
	// httpIPv6Key and adminIPv6Key are included where the kernel has IPv6.
	httpIPv6Key  = "http-ipv6.conf"
	adminIPv6Key = "admin-ipv6.conf"
)

// ConfigMap builds the ConfigMap with the nginx configuration of a Website,
// which is what NginxConfig returned for it.
func ConfigMap(website *v1beta1.Website, nginxConfig string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(ConfigMapName(website), website.Namespace).
		WithLabels(supportLabels(website)).
		WithOwnerReferences(ownerReference(website)).
		WithData(map[string]string{
			nginxConfigKey: nginxConfig,
			httpIPv6Key:    listenIPv6(httpPort),
			adminIPv6Key:   listenIPv6(adminPort),
		})
}
