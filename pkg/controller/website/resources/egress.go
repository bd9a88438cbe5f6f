package resources

import (
	"cmp"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	caVolume    = "git-ca"
	caMountPath = "/etc/git-ca"
	caFile      = "ca.crt"
)

// Proxy is the HTTP proxy of git.
type Proxy struct {
	// HTTPS and HTTP are the URLs of the proxies for https:// and http:// repositories.
	HTTPS, HTTP string
	// None are the hosts and networks that are reached without a proxy, separated by commas.
	None string
}

// egress is the way to the repository: the proxy, and the bundle of CA certificates that git, and not
// nginx, trusts in place of the public ones. A missing bundle keeps the pod from starting, with an
// event that names it.
func egress(git *v1beta1.GitSource, proxy Proxy) (c concern) {
	if git.CARef != nil {
		c.fetchArgs.add("ca-file", caMountPath+"/"+caFile)
		volume, item := corev1ac.Volume().WithName(caVolume),
			corev1ac.KeyToPath().WithKey(cmp.Or(git.CARef.Key, caFile)).WithPath(caFile)
		if git.CARef.SecretName != "" {
			volume.WithSecret(
				corev1ac.SecretVolumeSource().WithSecretName(git.CARef.SecretName).WithDefaultMode(secretMode).WithItems(item),
			)
		} else {
			volume.WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(git.CARef.ConfigMapName).WithItems(item))
		}
		c.mount(volume, caMountPath)
	}
	c.fetchArgs.add("https-proxy", proxy.HTTPS)
	c.fetchArgs.add("http-proxy", proxy.HTTP)
	c.fetchArgs.add("no-proxy", proxy.None)
	return c
}

func pullSecrets(names []string) []*corev1ac.LocalObjectReferenceApplyConfiguration {
	var secrets []*corev1ac.LocalObjectReferenceApplyConfiguration
	for _, name := range names {
		secrets = append(secrets, corev1ac.LocalObjectReference().WithName(name))
	}
	return secrets
}
