package resources

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// WantsAgentConfigMap reports whether the agents of a Website read a ConfigMap of its own.
func WantsAgentConfigMap(website *v1beta1.Website) bool {
	return PinOf(website) != "" || WantsPreviews(website)
}

// AgentConfigMap builds the ConfigMap that tells the agents of a Website with a pin or with previews
// which commit to serve and which branches to list, also without the controller. It is not part of
// the pod template: its changes replace no pod.
//
// existing is the pin in the existing ConfigMap. The generation is the last one with a change of the
// pin, as far as known, so that other changes are not written.
func AgentConfigMap(website *v1beta1.Website, existing string) *corev1ac.ConfigMapApplyConfiguration {
	pin := requests.Pin{Commit: PinOf(website), Generation: website.Generation}
	before, err := requests.ParsePin([]byte(existing))
	if err == nil && before.Commit == pin.Commit && before.Generation <= pin.Generation {
		pin = before
	}
	data := map[string]string{requests.PinFile: pin.String()}
	if WantsPreviews(website) {
		data[requests.PreviewsFile] = listedForPreviews(website).String()
	}
	return corev1ac.ConfigMap(AgentConfigMapName(website), website.Namespace).
		WithLabels(supportLabels(website)).
		WithOwnerReferences(ownerReference(website)).
		WithData(data)
}

// AgentKeysConfigMap builds the ConfigMap with the public keys of the installation. All agents of a
// namespace accept requests that are signed with these keys.
func AgentKeysConfigMap(namespace, keys string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(AgentKeysConfigMapName, namespace).
		WithLabels(map[string]string{LabelManagedBy: ManagedBy}).
		WithData(map[string]string{requests.KeysFile: keys})
}

// agentConfig gives agents the data that change without a rollout: both ConfigMaps, which are
// optional, and the UID of the pod, for which requests are signed.
func agentConfig(website *v1beta1.Website) (c concern) {
	projected := corev1ac.ProjectedVolumeSource()
	for _, name := range []string{AgentKeysConfigMapName, AgentConfigMapName(website)} {
		projected.WithSources(corev1ac.VolumeProjection().
			WithConfigMap(corev1ac.ConfigMapProjection().WithName(name).WithOptional(true)))
	}
	c.args.add("config", agentConfigPath)
	// The directory is mounted, because a file that is mounted by subPath never changes.
	c.mount(corev1ac.Volume().WithName(agentConfigVolume).WithProjected(projected), agentConfigPath)
	c.env = append(c.env, corev1ac.EnvVar().WithName(agent.PodUIDVariable).WithValueFrom(
		corev1ac.EnvVarSource().WithFieldRef(
			corev1ac.ObjectFieldSelector().WithAPIVersion(corev1.SchemeGroupVersion.String()).WithFieldPath("metadata.uid"),
		),
	))
	return c
}
