package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestPrivateCA: the agent, and not nginx, gets the one key of the ConfigMap or Secret.
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
			return volume.Secret != nil && volume.Secret.SecretName == "ca" && volume.Secret.Optional == nil &&
				*volume.Secret.DefaultMode == secretMode &&
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
			if i := slices.IndexFunc(container.VolumeMounts, isCA); i < 0 || !container.VolumeMounts[i].ReadOnly ||
				container.VolumeMounts[i].SubPath != "" {
				t.Errorf("git-sync mounts %+v", container.VolumeMounts)
			}
			if !slices.Contains(container.Args, "--ca-file=/etc/git-ca/ca.crt") {
				t.Errorf("the arguments are %q", container.Args)
			}
			if slices.ContainsFunc(containerOf(t, pod, NginxContainer).VolumeMounts, isCA) {
				t.Error("nginx mounts the CA")
			}
		})
	}
	args := containerOf(t, podOf(t, testInstallation), GitSyncContainer).Args
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--ca-file") }) {
		t.Error("without caRef git has another CA")
	}
}

// TestInstallationFlags: the flags of the controller reach the agent, and the pod.
func TestInstallationFlags(t *testing.T) {
	isProxy := func(arg string) bool { return strings.Contains(arg, "-proxy=") }
	if args := containerOf(t, podOf(t, testInstallation), GitSyncContainer).Args; slices.ContainsFunc(args, isProxy) {
		t.Errorf("without a proxy the arguments are %q", args)
	}
	installation := testInstallation
	installation.PullSecrets = []string{"registry", "mirror"}
	installation.Proxy = Proxy{HTTPS: "http://proxy.example.com:3128", HTTP: "http://other.example.com:3128",
		None: "git.example.com,10.0.0.0/8,$(HOME)"}
	pod := podOf(t, installation)
	var names []string
	for _, secret := range pod.ImagePullSecrets {
		names = append(names, secret.Name)
	}
	if !slices.Equal(names, installation.PullSecrets) {
		t.Errorf("the images are pulled with %q", names)
	}
	want := []string{"--https-proxy=http://proxy.example.com:3128", "--http-proxy=http://other.example.com:3128",
		"--no-proxy=git.example.com,10.0.0.0/8,$$(HOME)"}
	args := slices.DeleteFunc(containerOf(t, pod, GitSyncContainer).Args, func(arg string) bool { return !isProxy(arg) })
	if !slices.Equal(args, want) {
		t.Errorf("the arguments are %q, want %q", args, want)
	}
}
