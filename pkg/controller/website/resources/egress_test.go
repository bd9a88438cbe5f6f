package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func variablesOf(container corev1.Container) map[string]string {
	variables := map[string]string{}
	for _, variable := range container.Env {
		variables[variable.Name] = variable.Value
	}
	return variables
}

// TestPrivateCA: git-sync, and not nginx, gets the one key of the ConfigMap or Secret.
func TestPrivateCA(t *testing.T) {
	for name, test := range map[string]struct {
		ref  v1beta1.CAReference
		want func(volume corev1.Volume) bool
	}{
		"a ConfigMap": {v1beta1.CAReference{ConfigMapName: "ca", Key: "bundle.pem"}, func(volume corev1.Volume) bool {
			return volume.ConfigMap != nil && volume.ConfigMap.Name == "ca" && volume.ConfigMap.Optional == nil &&
				slices.Equal(volume.ConfigMap.Items, []corev1.KeyToPath{{Key: "bundle.pem", Path: "ca.crt"}})
		}},
		"a Secret": {v1beta1.CAReference{SecretName: "ca", Key: "ca.crt"}, func(volume corev1.Volume) bool {
			return volume.Secret != nil && volume.Secret.SecretName == "ca" && volume.Secret.Optional == nil && *volume.Secret.DefaultMode == secretMode &&
				slices.Equal(volume.Secret.Items, []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			withCA := func(website *v1beta1.Website) { website.Spec.Source.Git.CARef = &test.ref }
			pod := podOf(t, testInstallation, withCA)
			container := containerOf(t, pod, GitSyncContainer)
			i := slices.IndexFunc(pod.Volumes, func(volume corev1.Volume) bool { return volume.Name == caVolume })
			if i < 0 || !test.want(pod.Volumes[i]) {
				t.Fatalf("the volumes are %+v", pod.Volumes)
			}
			isCA := func(mount corev1.VolumeMount) bool { return mount.Name == caVolume }
			if i := slices.IndexFunc(container.VolumeMounts, isCA); i < 0 || !container.VolumeMounts[i].ReadOnly || container.VolumeMounts[i].SubPath != "" {
				t.Errorf("git-sync mounts %+v", container.VolumeMounts)
			}
			if got := variablesOf(container)["GIT_SSL_CAINFO"]; got != "/etc/git-ca/ca.crt" {
				t.Errorf("GIT_SSL_CAINFO is %q", got)
			}
			if slices.ContainsFunc(containerOf(t, pod, NginxContainer).VolumeMounts, isCA) {
				t.Error("nginx mounts the CA")
			}
		})
	}
	if container := containerOf(t, podOf(t, testInstallation), GitSyncContainer); variablesOf(container)["GIT_SSL_CAINFO"] != "" {
		t.Error("without caRef git has another CA")
	}
}

// TestInstallationFlags: the flags of the controller reach git, and the pod.
func TestInstallationFlags(t *testing.T) {
	installation := testInstallation
	installation.PullSecrets = []string{"registry", "mirror"}
	installation.Proxy = Proxy{HTTPS: "http://proxy.example.com:3128", HTTP: "http://other.example.com:3128", None: "git.example.com,10.0.0.0/8,$(HOME)"}
	pod := podOf(t, installation)
	var names []string
	for _, secret := range pod.ImagePullSecrets {
		names = append(names, secret.Name)
	}
	if !slices.Equal(names, installation.PullSecrets) {
		t.Errorf("the images are pulled with %q", names)
	}
	variables := map[string]string{}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for name, value := range variablesOf(container) {
			if strings.HasSuffix(name, "_proxy") {
				variables[container.Name+" "+name] = value
			}
		}
	}
	if len(variables) != 3 || variables["git-sync https_proxy"] != installation.Proxy.HTTPS || variables["git-sync http_proxy"] != installation.Proxy.HTTP ||
		variables["git-sync no_proxy"] != "git.example.com,10.0.0.0/8,$$(HOME)" {
		t.Errorf("the variables are %q", variables)
	}
}
