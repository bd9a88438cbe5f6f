package resources

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// concern is the addition of one part of a spec to the pods of a Website.
type concern struct {
	// fetchArgs are the arguments of the agent for fetches, and args its other ones.
	fetchArgs, args arguments
	// env is the environment of the agent.
	env                      []*corev1ac.EnvVarApplyConfiguration
	agentMounts, nginxMounts []*corev1ac.VolumeMountApplyConfiguration
	volumes                  []*corev1ac.VolumeApplyConfiguration
}

// concernsOf returns all concerns of a Website as one. Their order is part of the pod template:
// another order would replace all pods.
func concernsOf(website *v1beta1.Website, proxy Proxy) concern {
	var all concern
	for _, c := range []concern{
		agentConfig(website), credentials(Git(website)), egress(Git(website), proxy), protection(website), requestCounts(),
	} {
		all.fetchArgs, all.args = append(all.fetchArgs, c.fetchArgs...), append(all.args, c.args...)
		all.env, all.volumes = append(all.env, c.env...), append(all.volumes, c.volumes...)
		all.agentMounts = append(all.agentMounts, c.agentMounts...)
		all.nginxMounts = append(all.nginxMounts, c.nginxMounts...)
	}
	return all
}

// mount adds a volume to the concern, and mounts it read-only into the container of the agent.
func (c *concern) mount(volume *corev1ac.VolumeApplyConfiguration, path string) {
	c.volumes = append(c.volumes, volume)
	c.agentMounts = append(c.agentMounts,
		corev1ac.VolumeMount().WithName(*volume.Name).WithMountPath(path).WithReadOnly(true))
}
