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
	usernameVariable     = "GIT_USERNAME"
	knownHostsKey        = "known_hosts"

	// secretMode is read-only for the owner; the kubelet adds the group of the
	// pod, which is git-sync's.
	secretMode = 0o400
)

// usesSSH tells whether the Secret of a source holds a key or a password. The
// controller may not read Secrets, so it cannot look at their type.
func usesSSH(source *v1beta1.WebsiteSource) bool {
	return !strings.HasPrefix(source.Repository, "https://") && !strings.HasPrefix(source.Repository, "http://")
}

// credentialSettings are git's settings that limit the password to the path of
// the repository. They are for submodules only: git asks for credentials again
// where a server redirects to, which is often the path with ".git" at its end.
func credentialSettings(source *v1beta1.WebsiteSource) []gitSetting {
	if source.SecretRef == nil || usesSSH(source) || source.Submodules == v1beta1.SubmodulesOff || source.CredentialScope == v1beta1.CredentialScopeHost {
		return nil
	}
	return []gitSetting{{"credential.useHttpPath", "true"}}
}

// credentialArgs is how git-sync learns the credentials of a private
// repository. The password and the key stay in files; the kubelet fills in the
// user name, which git-sync takes as a flag only: the one argument that is meant
// to be expanded.
func credentialArgs(source *v1beta1.WebsiteSource) []string {
	switch {
	case source.SecretRef == nil:
		return nil
	case usesSSH(source):
		return []string{
			"--ssh-key-file=" + credentialsMountPath + "/" + corev1.SSHAuthPrivateKey,
			"--ssh-known-hosts=true",
			"--ssh-known-hosts-file=" + credentialsMountPath + "/" + knownHostsKey,
		}
	default:
		return []string{
			"--username=$(" + usernameVariable + ")",
			"--password-file=" + credentialsMountPath + "/" + corev1.BasicAuthPasswordKey,
		}
	}
}

// credentialVariables are the environment variables that credentialArgs refer to.
func credentialVariables(source *v1beta1.WebsiteSource) []*corev1ac.EnvVarApplyConfiguration {
	if source.SecretRef == nil || usesSSH(source) {
		return nil
	}
	return []*corev1ac.EnvVarApplyConfiguration{
		corev1ac.EnvVar().WithName(usernameVariable).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().
				WithName(source.SecretRef.Name).
				WithKey(corev1.BasicAuthUsernameKey))),
	}
}

// credentialVolumes mount what credentialArgs point to, and no other key of the
// Secret. A Secret that lacks one keeps the pod from starting, with an event
// that names the key.
func credentialVolumes(source *v1beta1.WebsiteSource) []*corev1ac.VolumeApplyConfiguration {
	if source.SecretRef == nil {
		return nil
	}
	keys := []string{corev1.BasicAuthPasswordKey}
	if usesSSH(source) {
		keys = []string{corev1.SSHAuthPrivateKey, knownHostsKey}
	}
	secret := corev1ac.SecretVolumeSource().WithSecretName(source.SecretRef.Name).WithDefaultMode(secretMode)
	for _, key := range keys {
		secret.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	return []*corev1ac.VolumeApplyConfiguration{corev1ac.Volume().WithName(credentialsVolume).WithSecret(secret)}
}

// credentialMounts give git-sync, and not nginx, what credentialVolumes hold.
func credentialMounts(source *v1beta1.WebsiteSource) []*corev1ac.VolumeMountApplyConfiguration {
	if source.SecretRef == nil {
		return nil
	}
	return []*corev1ac.VolumeMountApplyConfiguration{
		corev1ac.VolumeMount().WithName(credentialsVolume).WithMountPath(credentialsMountPath).WithReadOnly(true),
	}
}
