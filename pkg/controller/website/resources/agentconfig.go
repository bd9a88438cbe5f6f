package resources

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// AgentConfigMap builds the ConfigMap from which the agents of a Website learn what to serve,
// whose requests to accept, and which branches to list, also without the controller. It is no part of the pod
// template: what changes in it replaces no pod. keys are the public keys of the installation.
//
// existing is the data of the ConfigMap that there is. The generation is that of the spec in
// which the pin last changed, as far as that is known, so that other changes are not written.
func AgentConfigMap(website *v1beta1.Website, keys string, existing map[string]string) *corev1ac.ConfigMapApplyConfiguration {
	pin := requests.Pin{Commit: PinOf(website), Generation: website.Generation}
	before, err := requests.ParsePin([]byte(existing[requests.PinFile]))
	if err == nil && before.Commit == pin.Commit && before.Generation <= pin.Generation {
		pin = before
	}
	if keys == "" {
		// What is not known does not take the place of what was.
		keys = existing[requests.KeysFile]
	}
	data := map[string]string{requests.PinFile: pin.String(), requests.KeysFile: keys}
	if WantsPreviews(website) {
		data[requests.PreviewsFile] = listedForPreviews(website).String()
	}
	return corev1ac.ConfigMap(AgentConfigMapName(website), website.Namespace).
		WithLabels(supportLabels(website)).
		WithOwnerReferences(ownerReference(website)).
		WithData(data)
}

// agentConfig is the volume with that ConfigMap. A pod starts without it as well.
func agentConfig(website *v1beta1.Website) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(agentConfigVolume).
		WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(AgentConfigMapName(website)).WithOptional(true))
}

// podUID tells the agent the UID of its pod, for which requests are signed.
func podUID() *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(agent.PodUIDVariable).
		WithValueFrom(corev1ac.EnvVarSource().WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion(corev1.SchemeGroupVersion.String()).WithFieldPath("metadata.uid")))
}
