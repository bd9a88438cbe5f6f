package resources

import (
	"strings"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	serviceSuffix   = "-npsvc"
	configMapSuffix = "-nginx"
)

// DeploymentName is the name of the Deployment of a Website.
func DeploymentName(website *v1beta1.Website) string {
	return website.Spec.DeploymentName
}

// ServiceName is the name of the Service of a Website.
func ServiceName(website *v1beta1.Website) string {
	return website.Spec.DeploymentName + serviceSuffix
}

// ConfigMapName is the name of the ConfigMap of a Website.
func ConfigMapName(website *v1beta1.Website) string {
	return website.Spec.DeploymentName + configMapSuffix
}

// DeploymentNameOfService is the inverse of ServiceName. It reports false for
// a name that no Website's Service can have.
func DeploymentNameOfService(name string) (string, bool) {
	deployment, ok := strings.CutSuffix(name, serviceSuffix)
	return deployment, ok && deployment != ""
}

// DeploymentNameOfConfigMap is the inverse of ConfigMapName. It reports false
// for a name that no Website's ConfigMap can have.
func DeploymentNameOfConfigMap(name string) (string, bool) {
	deployment, ok := strings.CutSuffix(name, configMapSuffix)
	return deployment, ok && deployment != ""
}
