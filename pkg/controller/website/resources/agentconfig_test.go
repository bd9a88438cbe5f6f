package resources

import (
	"encoding/json"
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
		pin        string
		generation int64
		keys       string
		existing   map[string]string
		wantPin    string
		wantKeys   string
	}{
		"new":                        {"", 1, "keys", nil, `{"commit":"","generation":1}`, "keys"},
		"pinned":                     {pinnedCommit, 3, "keys", nil, `{"commit":"` + pinnedCommit + `","generation":3}`, "keys"},
		"another change of the spec": {pinnedCommit, 9, "keys", map[string]string{"pin.json": `{"commit":"` + pinnedCommit + `","generation":3}`}, `{"commit":"` + pinnedCommit + `","generation":3}`, "keys"},
		"another pin":                {other, 9, "keys", map[string]string{"pin.json": `{"commit":"` + pinnedCommit + `","generation":3}`}, `{"commit":"` + other + `","generation":9}`, "keys"},
		"no pin any more":            {"", 9, "keys", map[string]string{"pin.json": `{"commit":"` + pinnedCommit + `","generation":3}`}, `{"commit":"","generation":9}`, "keys"},
		"a restored store":           {pinnedCommit, 2, "keys", map[string]string{"pin.json": `{"commit":"` + pinnedCommit + `","generation":3}`}, `{"commit":"` + pinnedCommit + `","generation":2}`, "keys"},
		"changed by hand":            {"", 2, "keys", map[string]string{"pin.json": "nonsense", "keys.json": "others"}, `{"commit":"","generation":2}`, "keys"},
		"keys that are not known":    {"", 2, "", map[string]string{"keys.json": "known"}, `{"commit":"","generation":2}`, "known"},
	} {
		t.Run(name, func(t *testing.T) {
			website := newWebsite(func(website *v1beta1.Website) {
				website.Spec.Pin, website.Generation = pinTo(test.pin), test.generation
			})
			built := AgentConfigMap(website, test.keys, test.existing)
			if got := built.Data[requests.PinFile]; got != test.wantPin {
				t.Errorf("pin %s, want %s", got, test.wantPin)
			}
			if pin, err := requests.ParsePin([]byte(built.Data[requests.PinFile])); err != nil || pin.Commit != test.pin {
				t.Errorf("an agent reads %+v, %v", pin, err)
			}
			if got := built.Data[requests.KeysFile]; got != test.wantKeys {
				t.Errorf("keys %q, want %q", got, test.wantKeys)
			}
			if built.Immutable != nil || *built.Name != website.Spec.DeploymentName+"-agent" || len(built.OwnerReferences) != 1 {
				t.Errorf("built %+v", built)
			}
		})
	}
}

// TestTheAgentsOfASuspendedWebsite: without a commit to serve, they publish nothing.
func TestTheAgentsOfASuspendedWebsite(t *testing.T) {
	suspended := newWebsite(func(website *v1beta1.Website) { website.Spec.Suspend, website.Generation = new(true), 4 })
	for name, test := range map[string]struct{ existing, want string }{
		"new":              {"", requests.Pin{Commit: requests.PinCurrent, Generation: 4}.String()},
		"suspended now":    {requests.Pin{Generation: 3}.String(), requests.Pin{Commit: requests.PinCurrent, Generation: 4}.String()},
		"suspended before": {requests.Pin{Commit: requests.PinCurrent, Generation: 3}.String(), requests.Pin{Commit: requests.PinCurrent, Generation: 3}.String()},
	} {
		got := AgentConfigMap(suspended, "", map[string]string{requests.PinFile: test.existing}).Data[requests.PinFile]
		if pin, err := requests.ParsePin([]byte(got)); got != test.want || err != nil || pin.Commit != requests.PinCurrent {
			t.Errorf("%s: agents read %s as %+v (%v), want %s", name, got, pin, err, test.want)
		}
	}
}

// podOf returns the pods of a Website as the API server has them.
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
	without, with := podOf(t, testInstallation), podOf(t, testInstallation, func(website *v1beta1.Website) { website.Spec.Pin = pinTo(pinnedCommit) })
	if !reflect.DeepEqual(without, with) {
		t.Errorf("a pin changes the pods:\n%+v\n%+v", without, with)
	}
}

// TestAgentsGetTheirConfiguration: git-sync, and not nginx, mounts the ConfigMap as a
// directory, which is updated, and a pod starts without it.
func TestAgentsGetTheirConfiguration(t *testing.T) {
	pod := podOf(t, testInstallation)
	container := containerOf(t, pod, GitSyncContainer)
	for _, volume := range pod.Volumes {
		if volume.Name == agentConfigVolume && (volume.ConfigMap == nil || volume.ConfigMap.Name != "kubia-website-agent" || !*volume.ConfigMap.Optional) {
			t.Errorf("the volume is %+v", volume)
		}
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

// TestNginxPassesSignaturesOn: nginx passes on what the agent authorizes requests by, by its
// name, and names the client itself.
func TestNginxPassesSignaturesOn(t *testing.T) {
	config, err := NginxConfig(newWebsite())
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
