package cached

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// maxAgentFile is larger than the maximum number of public keys of an agent. A pin is shorter.
const maxAgentFile = 4 << 10

// ConfigMap is the cached form of a ConfigMap. It omits nginx configurations: with redirects they
// have hundreds of kilobytes, and each Website has several.
type ConfigMap struct {
	Meta
	Immutable bool
	// Pin is for the agents of a Website, and Keys are the public keys for all agents of a namespace.
	// Either is empty in all other ConfigMaps.
	Pin, Keys string
}

// OfConfigMap returns the cached form of a ConfigMap.
func OfConfigMap(configMap *corev1.ConfigMap) *ConfigMap {
	kept := &ConfigMap{Meta: metaOf(configMap, ConfigMaps), Immutable: ptr.Deref(configMap.Immutable, false)}
	switch {
	case configMap.Name == resources.AgentKeysConfigMapName:
		kept.Keys = agentFile(configMap, requests.KeysFile)
	case resources.IsAgentConfigMap(configMap.Name):
		kept.Pin = agentFile(configMap, requests.PinFile)
	}
	return kept
}

// agentFile returns a file for agents. Most are the same in all ConfigMaps of the installation.
func agentFile(configMap *corev1.ConfigMap, name string) string {
	if content := configMap.Data[name]; len(content) <= maxAgentFile {
		return interned(content)
	}
	return ""
}
