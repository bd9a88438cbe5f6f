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
	// pod, which is git-sync's.
	secretMode = 0o400
)

// usesSSH reports whether the Secret of a source holds a key rather than a password. The
// controller has no permission to read Secrets, so it cannot check their type.
func usesSSH(git *v1beta1.GitSource) bool {
	return !strings.HasPrefix(git.Repository, "https://") && !strings.HasPrefix(git.Repository, "http://")
}

// credentialSettings are git's settings that limit the password to the path of
// the repository. They are for submodules only: git requests credentials again
// where a server redirects to, which is often the path with ".git" at its end.
func credentialSettings(git *v1beta1.GitSource) []gitSetting {
	if git.SecretRef == nil || usesSSH(git) || git.Submodules == v1beta1.SubmodulesNone || git.CredentialScope == v1beta1.CredentialScopeHost {
		return nil
	}
	return []gitSetting{{"credential.useHttpPath", "true"}}
}

// credentialArgs are the flags of git-sync for the credentials of a private
// repository. The password and the key stay in files.
func credentialArgs(git *v1beta1.GitSource) []string {
	switch {
	case git.SecretRef == nil:
		return nil
	case usesSSH(git):
		return []string{
			"--ssh-key-file=" + credentialsMountPath + "/" + corev1.SSHAuthPrivateKey,
			"--ssh-known-hosts=true",
			"--ssh-known-hosts-file=" + credentialsMountPath + "/" + knownHostsKey,
		}
	default:
		return []string{"--password-file=" + credentialsMountPath + "/" + corev1.BasicAuthPasswordKey}
	}
}

// agentCredentialArgs are the flags of the agent for them. git-sync takes the user name as a
// flag only, which the agent adds, and changes when the Secret changes.
func agentCredentialArgs(git *v1beta1.GitSource) []string {
	if git.SecretRef == nil || usesSSH(git) {
		return nil
	}
	return []string{"--username-file=" + credentialsMountPath + "/" + corev1.BasicAuthUsernameKey}
}

// credentialVolumes mount what the arguments point to, and no other key of the Secret. A Secret that lacks one keeps the pod from starting, with an event
// that names the key.
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

// credentialMounts give git-sync, and not nginx, what credentialVolumes hold.
func credentialMounts(git *v1beta1.GitSource) []*corev1ac.VolumeMountApplyConfiguration {
	if git.SecretRef == nil {
		return nil
	}
	return []*corev1ac.VolumeMountApplyConfiguration{
		corev1ac.VolumeMount().WithName(credentialsVolume).WithMountPath(credentialsMountPath).WithReadOnly(true),
	}
}
