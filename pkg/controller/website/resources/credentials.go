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

	// secretMode is read-only for the owner; the kubelet adds the group of the
	// pod, which is that of the agent.
	secretMode = 0o400
)

// usesSSH reports whether the Secret of a source holds a key rather than a password. The
// controller has no permission to read Secrets, so it cannot check their type.
func usesSSH(git *v1beta1.GitSource) bool {
	return !strings.HasPrefix(git.Repository, "https://") && !strings.HasPrefix(git.Repository, "http://")
}

// addCredentials adds the flags for a private repository. The password and the key stay in files.
func addCredentials(args *arguments, git *v1beta1.GitSource) {
	if git.SecretRef == nil {
		return
	}
	if usesSSH(git) {
		args.add("ssh-key-file", credentialsMountPath+"/"+corev1.SSHAuthPrivateKey)
		args.add("ssh-known-hosts-file", credentialsMountPath+"/"+knownHostsKey)
	} else {
		args.add("username-file", credentialsMountPath+"/"+corev1.BasicAuthUsernameKey)
		args.add("password-file", credentialsMountPath+"/"+corev1.BasicAuthPasswordKey)
	}
	args.add("credential-scope", string(git.CredentialScope))
}

// credentialVolumes mount what the arguments point to, and no other key of the Secret. A Secret that lacks one keeps
// the pod from starting, with an event that names the key.
func credentialVolumes(git *v1beta1.GitSource) []*corev1ac.VolumeApplyConfiguration {
	if git.SecretRef == nil {
		return nil
	}
	keys := []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey}
	if usesSSH(git) {
		keys = []string{corev1.SSHAuthPrivateKey, knownHostsKey}
	}
	secret := corev1ac.SecretVolumeSource().WithSecretName(git.SecretRef.Name).WithDefaultMode(secretMode)
	for _, key := range keys {
		secret.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	return []*corev1ac.VolumeApplyConfiguration{corev1ac.Volume().WithName(credentialsVolume).WithSecret(secret)}
}

// credentialMounts give the agent, and not nginx, what credentialVolumes hold.
func credentialMounts(git *v1beta1.GitSource) []*corev1ac.VolumeMountApplyConfiguration {
	if git.SecretRef == nil {
		return nil
	}
	return []*corev1ac.VolumeMountApplyConfiguration{
		corev1ac.VolumeMount().WithName(credentialsVolume).WithMountPath(credentialsMountPath).WithReadOnly(true),
	}
}
