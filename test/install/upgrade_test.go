package install

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/test/framework"
)

// formerTag is the tag of the images of the previous release, which may have the version
// number of this checkout.
const formerTag = "former"

var withUpgrade = flag.Bool("upgrade", false,
	"run TestUpgradeOfDefault, which builds the images of the previous release")

// TestUpgradeOfDefault moves an installation to the previous release, and to this checkout again, as
// administrators do, while visitors request pages and owners write. The pods of all sites are
// replaced, as their agent changes: no page request fails, no acknowledged write is lost, and there
// is one leader at a time.
func TestUpgradeOfDefault(t *testing.T) {
	if !*withUpgrade {
		t.Skip("-upgrade is not set: the suite upgrade of \"make test-long\" sets it")
	}
	framework.RequireCluster(t)
	keepSystem(t)
	provideVolumes(t, 1)
	namespace, sites := framework.NewNamespace(t), []string{"first", "second"}
	applyDefault(t)
	waitServed(t)
	for _, name := range sites {
		publish(t, namespace, name)
		waitPage(t, namespace, name)
		framework.WaitReady(t, namespace, name)
	}
	release := framework.PreviousRelease(t)
	importImages(t, release, formerTag)
	former := tagged(t, filepath.Join(release, "artifacts", "default"), formerTag)
	before, agent := kept(t, namespace), agentOf(t, namespace, sites[0])
	pages := map[string]string{}
	for _, name := range sites {
		url, err := framework.Cluster.NodePortURL(t.Context(), namespace, name+"-npsvc")
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = url
	}
	changes := framework.WatchLeader(t, framework.Admin(t).Kubernetes)
	visitors := startVisitors(t, pages)
	writes := startWrites(t, namespace, pages)

	image, _, _ := strings.Cut(agent, ":")
	moveTo(t, former, namespace, image+":"+formerTag)
	writes.check(t)
	moveTo(t, framework.Path("artifacts", "default"), namespace, agent)
	writes.check(t)
	visitors.finish(t)
	if n := changes(); n < 2 {
		t.Errorf("the leader has changed %d times, want one for each release", n)
	}
	if after := kept(t, namespace); !maps.Equal(before, after) {
		t.Errorf("the Deployments and Services were %v, and are %v", before, after)
	}
}

// tagged writes an overlay with other tags of the images of the product, and returns its
// directory.
func tagged(t *testing.T, base, tag string) string {
	t.Helper()
	dir := t.TempDir()
	resource, err := filepath.Rel(dir, base)
	if err != nil {
		t.Fatal(err)
	}
	// A variable of website-controller holds the image of the agent.
	framework.WriteFile(t, filepath.Join(dir, "images.yaml"),
		[]byte("images: [{path: 'spec/template/spec/containers[]/env[]/value', kind: Deployment}]\n"))
	kustomization := "resources: [" + resource + "]\nconfigurations: [images.yaml]\nimages:\n"
	for _, program := range []string{"website-apiserver", "website-controller", "website-agent"} {
		kustomization += "- {name: ghcr.io/kubesites/" + program + ", newTag: " + tag + "}\n"
	}
	framework.WriteFile(t, filepath.Join(dir, "kustomization.yaml"), []byte(kustomization))
	return dir
}

// moveTo applies an overlay, and waits until its programs run and all sites have its agent.
func moveTo(t *testing.T, overlay, namespace, agent string) {
	t.Helper()
	// The releases differ in podManagementPolicy, which is immutable.
	framework.Kubectl(t, "delete", "statefulset", "website-apiserver", "--cascade=orphan", "--namespace="+systemNamespace)
	framework.Kubectl(t, "apply", "-k", overlay)
	for _, program := range []string{"statefulset/website-apiserver", "deployment/website-controller"} {
		framework.Kubectl(t, "rollout", "status", "--namespace="+systemNamespace, kubectlTimeout, program)
	}
	client := framework.Admin(t).Kubernetes
	framework.WaitFor(t, "all pods of sites have "+agent, func(ctx context.Context) error {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if image := pod.Spec.InitContainers[0].Image; image != agent || !framework.PodReady(pod) {
				return fmt.Errorf("pod %s has %s, and is ready: %t", pod.Name, image, framework.PodReady(pod))
			}
		}
		return nil
	})
}

// agentOf returns the image of the agent of a site.
func agentOf(t *testing.T, namespace, site string) string {
	t.Helper()
	deployment, err := framework.Admin(t).Kubernetes.AppsV1().Deployments(namespace).Get(t.Context(), site,
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.InitContainers[0]
	if container.Name != resources.AgentContainer {
		t.Fatalf("the pods of %s begin with container %s", site, container.Name)
	}
	return container.Image
}

// kept returns the children that no upgrade replaces.
func kept(t *testing.T, namespace string) map[string]string {
	t.Helper()
	found := children(t, namespace)
	maps.DeleteFunc(found, func(name, _ string) bool {
		return !strings.HasPrefix(name, "Deployment/") && !strings.HasPrefix(name, "Service/")
	})
	return found
}
