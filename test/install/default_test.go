package install

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestDefault installs the chart in an empty cluster and removes it, installs artifacts/default with
// and without components, removes it and installs it again, in each documented way. Sites stay
// online, and none of their objects is deleted.
func TestDefault(t *testing.T) {
	framework.RequireCluster(t)
	keepSystem(t)
	provideVolumes(t, 1)
	sites := framework.NewNamespace(t, func(namespace *corev1.Namespace) {
		namespace.Labels = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	})

	t.Run("chart", func(t *testing.T) { testChart(t, sites) })
	var before map[string]string
	t.Run("host network", func(t *testing.T) {
		testHostNetwork(t, sites)
		before = children(t, sites)
	})
	start := time.Now()
	applyDefault(t)
	waitServed(t)
	t.Logf("%s from kubectl apply to a served API", time.Since(start).Round(time.Second))
	publish(t, sites, "third")
	waitPage(t, sites, "third")
	t.Logf("%s from kubectl apply to a served page", time.Since(start).Round(time.Second))
	framework.WaitReady(t, sites, "third")
	framework.Kubectl(t, "rollout", "status", "--namespace="+systemNamespace, kubectlTimeout,
		"deployment/website-controller")
	requireIncluded(t, sites, before)

	t.Run("the controller writes only children of Websites", func(t *testing.T) {
		for _, args := range [][]string{
			{"create", "configmap", "stolen", "--namespace=" + sites},
			{"create", "ingress", "stolen", "--rule=www.example.com/*=shop:80", "--namespace=" + sites},
			{"annotate", "service", "website-apiserver", "stolen=yes", "--namespace=" + systemNamespace},
		} {
			said := framework.KubectlRefused(t, "",
				append(args, "--as=system:serviceaccount:website-system:website-controller")...)
			if !strings.Contains(said, "only objects that a Website controls") {
				t.Errorf("kubectl %s as website-controller: %s", strings.Join(args, " "), said)
			}
		}
	})
	t.Run("the controller repairs the keys of agents", func(t *testing.T) {
		const label = "app.kubernetes.io/managed-by"
		framework.Kubectl(t, "label", "configmap", "website-agent-keys", label+"-", "--namespace="+sites)
		framework.WaitFor(t, "the label of the keys is back", func(context.Context) error {
			if got := framework.Kubectl(t, "get", "configmap", "website-agent-keys", "--namespace="+sites, "-o",
				`jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}`); got != "website-controller" {
				return fmt.Errorf("it is %q", got)
			}
			return nil
		})
	})

	t.Run("the controller runs no pods with privilege", func(t *testing.T) { testPods(t, sites) })
	t.Run("a pod that never was ready is replaced", testMistakenImage)

	// Without "uninstall", the API stays registered and is unavailable in between.
	reinstall(t, sites, children(t, sites))
	t.Run("backup", func(t *testing.T) { testBackup(t, sites, "first", "third") })
}

// reinstall removes everything and installs it again, and checks the remaining objects in between.
func reinstall(t *testing.T, sites string, before map[string]string) {
	t.Helper()
	said := framework.KubectlRefused(t, "", "delete", "--wait=false", "-k", framework.Path("artifacts", "default"))
	if errors := complaints(said); len(errors) != 1 || !strings.Contains(errors[0], "the namespace is kept") {
		t.Errorf("kubectl delete said: %s", said)
	}
	waitRemoved(t)
	requireKept(t)
	waitPage(t, sites, "first")
	requireSame(t, sites, before)

	applyDefault(t)
	waitServed(t)
	framework.WaitReady(t, sites, "first")
	waitPage(t, sites, "first")
	requireSame(t, sites, before)
}

// testPods writes Deployments with the ServiceAccount of the controller, as an attacker with its
// token would.
func testPods(t *testing.T, sites string) {
	website := framework.Kubectl(t, "get", "website", "first", "--namespace="+sites, "-o", "jsonpath={.metadata.uid}")
	deployment := `apiVersion: apps/v1
kind: Deployment
metadata:
  name: stolen
  namespace: ` + sites + `
  ownerReferences:
  - {apiVersion: mycontroller.nevermosby.io/v1beta1, kind: Website, name: first, uid: ` + website + `, controller: true}
spec:
  selector: {matchLabels: {app: stolen}}
  template:
    metadata: {labels: {app: stolen}}
    spec:
      automountServiceAccountToken: false
      containers: [{name: c, image: c, securityContext: {allowPrivilegeEscalation: false}}]
`
	const pod, container = "      automountServiceAccountToken: false\n", "{allowPrivilegeEscalation: false}"
	as := []string{"create", "--dry-run=server", "-f", "-", "--as=system:serviceaccount:website-system:website-controller"}
	for name, test := range map[string]struct{ former, now, want string }{
		"the controller's own pods": {pod, pod, ""},
		"a token":                   {pod, "", "without a ServiceAccount token"},
		"a projected token": {pod, pod + "      volumes: [{name: t, projected: {sources: [{serviceAccountToken: " +
			"{path: t}}]}}]\n", "without a ServiceAccount token"},
		"a host path":             {pod, pod + "      volumes: [{name: h, hostPath: {path: /}}]\n", "without host paths"},
		"the network of the host": {pod, pod + "      hostNetwork: true\n", "without privilege"},
		"a privileged container":  {container, "{privileged: true, allowPrivilegeEscalation: true}", "without privilege"},
		"an init container":       {pod, pod + "      initContainers: [{name: i, image: i}]\n", "without privilege"},
		"a capability": {container, "{allowPrivilegeEscalation: false, capabilities: {add: [NET_ADMIN]}}",
			"without privilege"},
	} {
		manifest := strings.Replace(deployment, test.former, test.now, 1)
		if test.want == "" {
			framework.KubectlWith(t, framework.Stdin(manifest), as...)
		} else if said := framework.KubectlRefused(t, manifest, as...); !strings.Contains(said, test.want) {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// testMistakenImage: once the name of an image is corrected, the StatefulSet replaces the pod that
// could not pull it.
func testMistakenImage(t *testing.T) {
	framework.Kubectl(t, "set", "image", "--namespace="+systemNamespace, "statefulset/website-apiserver",
		"website-apiserver=localhost/mistaken:v1")
	framework.Kubectl(t, "wait", "--namespace="+systemNamespace, kubectlTimeout, "pod/website-apiserver-0",
		"--for=jsonpath={.spec.containers[0].image}=localhost/mistaken:v1")
	applyDefault(t)
	framework.Kubectl(t, "rollout", "status", "--namespace="+systemNamespace, kubectlTimeout,
		"statefulset/website-apiserver")
	waitServed(t)
}

// testHostNetwork installs website-apiserver in the host's network, without permission to
// create APIServices.
func testHostNetwork(t *testing.T, sites string) {
	framework.Kubectl(t, "apply", "-k", component(t, "default", "host-network", "static-registration"))
	waitServed(t)
	pods, err := framework.SystemPods(t.Context(), framework.Admin(t).Kubernetes, "website-apiserver")
	if err != nil || len(pods) != 1 || pods[0].Status.PodIP != pods[0].Status.HostIP {
		t.Errorf("website-apiserver is not in the network of its node: %+v, %v", pods, err)
	}
	publish(t, sites, "second")
	waitPage(t, sites, "second")
	framework.WaitReady(t, sites, "second")
}

// component writes an overlay with components, and returns its directory.
func component(t *testing.T, overlay string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	resource, err := filepath.Rel(dir, framework.Path("artifacts", overlay))
	if err != nil {
		t.Fatal(err)
	}
	kustomization := "resources: [" + resource + "]\ncomponents:\n"
	for _, name := range names {
		kustomization += "- " + filepath.Join(resource, "..", "components", name) + "\n"
	}
	framework.WriteFile(t, filepath.Join(dir, "kustomization.yaml"), []byte(kustomization))
	return dir
}

// hostNetworkWarning is the warning of Pod Security in a namespace that enforces "restricted".
const hostNetworkWarning = `Warning: would violate PodSecurity "restricted:latest": host namespaces (hostNetwork=true)`

// testDryRun makes kube-apiserver check the manifests in artifacts, without a warning, in place of
// the chart's objects.
func testDryRun(t *testing.T, program string) {
	installDefinitions(t)
	overlays := map[string]string{"network-policies": framework.Path("artifacts", "network-policies"),
		"ha": framework.Path("artifacts", "ha")}
	components, err := os.ReadDir(framework.Path("artifacts", "components"))
	if err != nil || len(components) == 0 {
		t.Fatalf("components: %v, %v", components, err)
	}
	for _, entry := range components {
		for _, name := range []string{"default", "ha"} {
			overlays[name+" with "+entry.Name()] = component(t, name, entry.Name())
		}
	}
	manifests := map[string]string{}
	for name, dir := range overlays {
		manifests[name] = framework.Kubectl(t, "kustomize", dir)
	}
	for name, values := range chartValues {
		manifests[name] = helm(t, program, "template", "website", framework.Path("artifacts", "chart"), "--no-hooks",
			"--set="+values)
	}
	checked := sets.New[string]()
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		// Many overlays share most objects.
		var objects []string
		for object := range strings.SplitSeq(manifests[name], "\n---\n") {
			if object = strings.TrimSpace(object); object != "" && !checked.Has(object) {
				objects = append(objects, object)
			}
		}
		checked.Insert(objects...)
		if len(objects) == 0 {
			continue
		}
		_, stderr, err := framework.Cluster.KubectlWith(t.Context(), framework.Stdin(strings.Join(objects, "\n---\n")),
			"apply", "--dry-run=server", "--server-side", "--force-conflicts", "--field-manager=helm", "-f", "-")
		if strings.HasSuffix(name, " host-network") {
			// A dry run does not change the labels of the namespace.
			stderr = strings.ReplaceAll(stderr, hostNetworkWarning, "")
		}
		if err != nil || len(complaints(stderr)) > 0 {
			t.Errorf("%s: %v: %s", name, err, stderr)
		}
	}
}
