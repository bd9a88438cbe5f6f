package resources

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	credentialsVolume    = "credentials"
	credentialsMountPath = "/etc/git-credentials"
	knownHostsKey        = "known_hosts"

	// secretMode is read-only for the owner; the kubelet adds the group of the pod, which the agent
	// has.
	secretMode = 0o400
)

// usesSSH reports whether the Secret of a source holds a key rather than a password. The
// controller has no permission to read Secrets, so it cannot check their type.
func usesSSH(git *v1beta1.GitSource) bool {
	return !strings.HasPrefix(git.Repository, "https://") && !strings.HasPrefix(git.Repository, "http://")
}

// credentials give the agent, and not nginx, the Secret of a private repository: only the keys in the
// arguments. The password and the key stay in files. A Secret without one of the keys keeps the pod
// from starting, with an event that names the key.
func credentials(git *v1beta1.GitSource) (c concern) {
	if git.SecretRef == nil {
		return c
	}
	flags, keys := []string{"username-file", "password-file"},
		[]string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey}
	if usesSSH(git) {
		flags, keys = []string{"ssh-key-file", "ssh-known-hosts-file"}, []string{corev1.SSHAuthPrivateKey, knownHostsKey}
	}
	for i, flag := range flags {
		c.fetchArgs.add(flag, credentialsMountPath+"/"+keys[i])
	}
	c.fetchArgs.add("credential-scope", string(git.CredentialScope))
	c.mount(secretVolume(credentialsVolume, git.SecretRef.Name, keys...), credentialsMountPath)
	return c
}

// secretVolume returns a volume with some keys of a Secret.
func secretVolume(name, secretName string, keys ...string) *corev1ac.VolumeApplyConfiguration {
	secret := corev1ac.SecretVolumeSource().WithSecretName(secretName).WithDefaultMode(secretMode)
	for _, key := range keys {
		secret.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	return corev1ac.Volume().WithName(name).WithSecret(secret)
}
