package resources

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestUsersReachTheAgentOnly: nginx has the password file, and not the Secret. A pod starts without
// the Secret.
func TestUsersReachTheAgentOnly(t *testing.T) {
	pod := buildDeployment(t, newWebsite(withUsers("readers"))).Spec.Template.Spec
	want := map[string]corev1.VolumeSource{
		"access-secret": {Secret: &corev1.SecretVolumeSource{
			SecretName: "readers", DefaultMode: ptr.To[int32](0o400), Optional: ptr.To(true),
			Items: []corev1.KeyToPath{{Key: "username", Path: "username"}, {Key: "password", Path: "password"},
				{Key: "htpasswd", Path: "htpasswd"}},
		}},
		"access": {EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory,
			SizeLimit: ptr.To(resource.MustParse("1Mi"))}},
	}
	for _, volume := range pod.Volumes {
		if source, found := want[volume.Name]; found {
			if got, want := mustJSON(t, volume.VolumeSource), mustJSON(t, source); got != want {
				t.Errorf("volume %s is %s, want %s", volume.Name, got, want)
			}
			delete(want, volume.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there are no volumes %v", want)
	}
	mounts := map[string]string{}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, mount := range container.VolumeMounts {
			if mount.Name == accessSecretVolume || mount.Name == accessVolume {
				data, err := json.Marshal(mount)
				if err != nil {
					t.Fatal(err)
				}
				mounts[container.Name+" "+mount.Name] = string(data)
			}
		}
	}
	if got, want := mustJSON(t, mounts), mustJSON(t, map[string]string{
		"git-sync access-secret": `{"name":"access-secret","readOnly":true,"mountPath":"/etc/access-secret"}`,
		"git-sync access":        `{"name":"access","mountPath":"/access"}`,
		"nginx access":           `{"name":"access","readOnly":true,"mountPath":"/access"}`,
	}); got != want {
		t.Errorf("the mounts are %s, want %s", got, want)
	}
	for _, arg := range []string{"--access-secret=/etc/access-secret", "--access-file=/access/users"} {
		if args := pod.InitContainers[1].Args; !slices.Contains(args, arg) {
			t.Errorf("the agent has the arguments %q, want %s among them", args, arg)
		}
	}
}

// TestAnotherSecretReplacesPods: a running pod gets the new content of a Secret, but not another
// name.
func TestAnotherSecretReplacesPods(t *testing.T) {
	template := func(tweaks ...func(*v1beta1.Website)) string {
		return mustJSON(t, buildDeployment(t, newWebsite(tweaks...)).Spec.Template)
	}
	if template(withUsers("readers")) == template(withUsers("others")) || template(withUsers("readers")) == template() {
		t.Error("the pod template does not depend on spec.access.basicAuth.secretRef")
	}
}

func TestPrivateCaching(t *testing.T) {
	for value, want := range map[string]string{
		"":                                     "private",
		"public":                               "private",
		"PUBLIC,max-age=60":                    "private, max-age=60",
		"public, s-maxage=60, max-age=0":       "private, max-age=0",
		"private, max-age=60":                  "private, max-age=60",
		`private="set-cookie", max-age=60`:     "private, max-age=60",
		"no-store":                             "private, no-store",
		"max-age=60, stale-while-revalidate=5": "private, max-age=60, stale-while-revalidate=5",
	} {
		if got := privateCaching(value); got != want {
			t.Errorf("privateCaching(%q) = %q, want %q", value, got, want)
		}
	}
}
