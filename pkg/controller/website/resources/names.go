package resources

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	serviceSuffix   = "-npsvc"
	configMapSuffix = "-nginx"
	// agentConfigMapSuffix uses the remaining length of a name beyond the name of the Deployment.
	agentConfigMapSuffix = "-agent"

	// configHashLength is the length of the hash in the name of a ConfigMap.
	configHashLength = 16
)

// configMapName matches the names of ConfigMaps, also those without a hash that
// earlier versions gave to a ConfigMap for all revisions.
var configMapName = regexp.MustCompile(fmt.Sprintf(`^(.+)%s(?:-[0-9a-f]{%d})?$`, configMapSuffix, configHashLength))

// DeploymentName is the name of the Deployment of a Website.
func DeploymentName(website *v1beta1.Website) string {
	return website.Spec.DeploymentName
}

// ServiceName is the name of the Service of a Website.
func ServiceName(website *v1beta1.Website) string {
	return website.Spec.DeploymentName + serviceSuffix
}

// ConfigMapName is the name of the ConfigMap of a Website with an nginx configuration.
func ConfigMapName(website *v1beta1.Website, nginxConfig string) string {
	return website.Spec.DeploymentName + configMapSuffix + "-" + configHash(nginxConfig)
}

// AgentKeysConfigMapName is the name of the ConfigMap that all agents of a namespace read.
const AgentKeysConfigMapName = "website-agent-keys"

// AgentConfigMapName is the name of the ConfigMap that only the agents of a Website read.
func AgentConfigMapName(website *v1beta1.Website) string {
	return website.Spec.DeploymentName + agentConfigMapSuffix
}

// IsAgentConfigMap reports whether a name is one of AgentConfigMapName.
func IsAgentConfigMap(name string) bool {
	return strings.HasSuffix(name, agentConfigMapSuffix) && name != agentConfigMapSuffix
}

// DeploymentNameOfService is the inverse of ServiceName. It reports false for
// a name that no Website's Service can have.
func DeploymentNameOfService(name string) (string, bool) {
	deployment, ok := strings.CutSuffix(name, serviceSuffix)
	return deployment, ok && deployment != ""
}

// DeploymentNameOfConfigMap returns the deployment name in the name of a ConfigMap.
// It reports false for a name that no Website's ConfigMap can have.
func DeploymentNameOfConfigMap(name string) (string, bool) {
	if IsAgentConfigMap(name) {
		return strings.TrimSuffix(name, agentConfigMapSuffix), true
	}
	match := configMapName.FindStringSubmatch(name)
	if match == nil {
		return "", false
	}
	return match[1], true
}
