package resources

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var pinnedCommit = strings.Repeat("a", 40)

func TestAgentConfigMap(t *testing.T) {
	other := strings.Repeat("b", 40)
	for name, test := range map[string]struct {
		pin               string
		generation        int64
		existing, wantPin string
	}{
		"new": {pinnedCommit, 3, "", `{"commit":"` + pinnedCommit + `","generation":3}`},
		"another change of the spec": {pinnedCommit, 9, `{"commit":"` + pinnedCommit + `","generation":3}`,
			`{"commit":"` + pinnedCommit + `","generation":3}`},
		"another pin": {other, 9, `{"commit":"` + pinnedCommit + `","generation":3}`,
			`{"commit":"` + other + `","generation":9}`},
		"no pin, but previews": {"", 9, `{"commit":"` + pinnedCommit + `","generation":3}`,
			`{"commit":"","generation":9}`},
		"a restored store": {pinnedCommit, 2, `{"commit":"` + pinnedCommit + `","generation":3}`,
			`{"commit":"` + pinnedCommit + `","generation":2}`},
		"changed by hand": {pinnedCommit, 2, "nonsense", `{"commit":"` + pinnedCommit + `","generation":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			website := newWebsite(func(website *v1beta1.Website) {
				website.Spec.Pin, website.Generation = pinTo(test.pin), test.generation
				if test.pin == "" {
					website.Spec.Previews = &v1beta1.WebsitePreviews{Branches: []string{"*"}}
				}
			})
			if !WantsAgentConfigMap(website) {
				t.Error("there is no ConfigMap")
			}
			built := AgentConfigMap(website, test.existing)
			if got := built.Data[requests.PinFile]; got != test.wantPin {
				t.Errorf("pin %s, want %s", got, test.wantPin)
			}
			if pin, err := requests.ParsePin([]byte(built.Data[requests.PinFile])); err != nil || pin.Commit != test.pin {
				t.Errorf("an agent reads %+v, %v", pin, err)
			}
			if built.Immutable != nil || *built.Name != website.Spec.DeploymentName+"-agent" || len(built.OwnerReferences) != 1 {
				t.Errorf("built %+v", built)
			}
		})
	}
	if WantsAgentConfigMap(newWebsite()) {
		t.Error("a Website without a pin and previews has a ConfigMap of its own")
	}
}

// TestTheAgentsOfASuspendedWebsite: without a commit to serve, they publish nothing.
func TestTheAgentsOfASuspendedWebsite(t *testing.T) {
	suspended := newWebsite(func(website *v1beta1.Website) { website.Spec.Suspend, website.Generation = new(true), 4 })
	for name, test := range map[string]struct{ existing, want string }{
		"new": {"", requests.Pin{Commit: requests.PinCurrent, Generation: 4}.String()},
		"suspended now": {requests.Pin{Generation: 3}.String(),
			requests.Pin{Commit: requests.PinCurrent, Generation: 4}.String()},
		"suspended before": {requests.Pin{Commit: requests.PinCurrent, Generation: 3}.String(),
			requests.Pin{Commit: requests.PinCurrent, Generation: 3}.String()},
	} {
		got := AgentConfigMap(suspended, test.existing).Data[requests.PinFile]
		if pin, err := requests.ParsePin([]byte(got)); got != test.want || err != nil || pin.Commit != requests.PinCurrent {
			t.Errorf("%s: agents read %s as %+v (%v), want %s", name, got, pin, err, test.want)
		}
	}
}

// podOf returns the pod spec of a Website as the API server stores it.
func podOf(t *testing.T, installation Installation, tweaks ...func(*v1beta1.Website)) corev1.PodSpec {
	t.Helper()
	built, err := Deployment(newWebsite(tweaks...), installation, "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(built.Spec.Template.Spec)
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.PodSpec
	if err := json.Unmarshal(data, &pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func containerOf(t *testing.T, pod corev1.PodSpec, name string) corev1.Container {
	t.Helper()
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		if container.Name == name {
			return container
		}
	}
	t.Fatalf("there is no container %q", name)
	return corev1.Container{}
}

// TestThePinIsNotInThePods: neither a pin nor a rotation of keys replaces a pod.
func TestThePinIsNotInThePods(t *testing.T) {
	without, with := podOf(t, testInstallation),
		podOf(t, testInstallation, func(website *v1beta1.Website) { website.Spec.Pin = pinTo(pinnedCommit) })
	if !reflect.DeepEqual(without, with) {
		t.Errorf("a pin changes the pods:\n%+v\n%+v", without, with)
	}
}

// TestAgentsGetTheirConfiguration: git-sync, and not nginx, mounts the ConfigMaps as a
// directory, which is updated, and a pod starts without them.
func TestAgentsGetTheirConfiguration(t *testing.T) {
	pod := podOf(t, testInstallation)
	container := containerOf(t, pod, GitSyncContainer)
	var sources []string
	for _, volume := range pod.Volumes {
		if volume.Name == agentConfigVolume {
			for _, source := range volume.Projected.Sources {
				sources = append(sources, fmt.Sprint(source.ConfigMap.Name, " ", *source.ConfigMap.Optional))
			}
		}
	}
	if want := []string{"website-agent-keys true", "kubia-website-agent true"}; !slices.Equal(sources, want) {
		t.Errorf("the volume has %q, want %q", sources, want)
	}
	mounted := false
	for _, mount := range container.VolumeMounts {
		if mount.Name == agentConfigVolume {
			mounted = mount.SubPath == "" && mount.ReadOnly && mount.MountPath == agentConfigPath
		}
	}
	if !mounted {
		t.Errorf("git-sync mounts %+v", container.VolumeMounts)
	}
	if args := strings.Join(container.Args, " "); !strings.Contains(args, "--config="+agentConfigPath+" ") {
		t.Errorf("arguments %s", args)
	}
	hasUID := false
	for _, variable := range container.Env {
		hasUID = hasUID || variable.Name == agent.PodUIDVariable && variable.ValueFrom.FieldRef.FieldPath == "metadata.uid"
	}
	if !hasUID {
		t.Error("the agent does not know the UID of its pod")
	}
	for _, mount := range containerOf(t, pod, NginxContainer).VolumeMounts {
		if mount.Name == agentConfigVolume {
			t.Error("nginx mounts the configuration of the agent")
		}
	}
}

// TestNginxPassesSignaturesOn: nginx forwards the signature to the agent, and sets the address of the
// client itself.
func TestNginxPassesSignaturesOn(t *testing.T) {
	config, err := NginxConfig(newWebsite(), testInstallation)
	if err != nil {
		t.Fatal(err)
	}
	variable := "$http_" + strings.ToLower(strings.ReplaceAll(requests.Header, "-", "_"))
	for _, directive := range []string{
		"proxy_set_header " + requests.Header + " " + variable + ";",
		"proxy_set_header " + agent.ClientHeader + " $remote_addr;",
	} {
		if strings.Count(config, directive) != 1 {
			t.Errorf("%q is not in the configuration once", directive)
		}
	}
}

// pinTo returns a pin; nil without a commit.
func pinTo(commit string) *v1beta1.WebsitePin {
	if commit == "" {
		return nil
	}
	return &v1beta1.WebsitePin{Commit: commit}
}
