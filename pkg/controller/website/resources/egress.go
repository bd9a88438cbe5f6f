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
	// None are the hosts and networks that are reached without, separated by commas.
	None string
}

// addEgress adds the flags for the way to the repository.
func addEgress(args *arguments, git *v1beta1.GitSource, proxy Proxy) {
	if git.CARef != nil {
		args.add("ca-file", caMountPath+"/"+caFile)
	}
	args.add("https-proxy", proxy.HTTPS)
	args.add("http-proxy", proxy.HTTP)
	args.add("no-proxy", proxy.None)
}

func pullSecrets(names []string) []*corev1ac.LocalObjectReferenceApplyConfiguration {
	var secrets []*corev1ac.LocalObjectReferenceApplyConfiguration
	for _, name := range names {
		secrets = append(secrets, corev1ac.LocalObjectReference().WithName(name))
	}
	return secrets
}

// caVolumes mount the bundle of CA certificates that git trusts in the place of the public ones. One that is missing
// keeps the pod from starting, with an event that names it.
func caVolumes(git *v1beta1.GitSource) []*corev1ac.VolumeApplyConfiguration {
	if git.CARef == nil {
		return nil
	}
	volume, item := corev1ac.Volume().WithName(caVolume),
		corev1ac.KeyToPath().WithKey(cmp.Or(git.CARef.Key, caFile)).WithPath(caFile)
	if git.CARef.SecretName != "" {
		volume.WithSecret(
			corev1ac.SecretVolumeSource().WithSecretName(git.CARef.SecretName).WithDefaultMode(secretMode).WithItems(item),
		)
	} else {
		volume.WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(git.CARef.ConfigMapName).WithItems(item))
	}
	return []*corev1ac.VolumeApplyConfiguration{volume}
}

// caMounts give git, and not nginx, what caVolumes hold.
func caMounts(git *v1beta1.GitSource) []*corev1ac.VolumeMountApplyConfiguration {
	if git.CARef == nil {
		return nil
	}
	return []*corev1ac.VolumeMountApplyConfiguration{corev1ac.VolumeMount().WithName(caVolume).WithMountPath(caMountPath).
		WithReadOnly(true)}
}
