package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestUpgrade has a controller take over a site whose pods have no agent, as an earlier
// version made them: git-sync publishes in its own root, which nginx serves. It is not
// parallel: it stops the controller.
func TestUpgrade(t *testing.T) {
	s := newSite(t, framework.WithReplicas(2))
	startController := framework.StopController(t)
	s.withoutAgent(t)
	s.kubectl(t, "rollout", "status", "deployment/"+s.deployment, kubectlTimeout)
	s.waitLive(t, s.repository.git(t, "rev-parse", "HEAD"))
	s.wantAgents(t, false)
	visitors := startTraffic(t, s)
	startController()
	s.wantAgents(t, true)
	s.kubectl(t, "rollout", "status", "deployment/"+s.deployment, kubectlTimeout)
	s.waitLive(t, s.repository.release(t, "release-2"))
	visitors.finish(t)
}

// wantAgents waits until all pods have the agent, or none has.
func (s *site) wantAgents(t *testing.T, want bool) {
	t.Helper()
	framework.WaitFor(t, fmt.Sprintf("pods have the agent: %t", want), func(ctx context.Context) error {
		pods, err := s.pods(ctx, framework.Admin(t).Kubernetes)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if first := pod.Spec.InitContainers[0].Name; (first == resources.AgentContainer) != want || !ready(pod) {
				return fmt.Errorf("pod %s, which begins with container %s, is ready: %t", pod.Name, first, ready(pod))
			}
		}
		return nil
	})
}

// withoutAgent writes the Deployment and the configuration as the controller did before
// there was an agent.
func (s *site) withoutAgent(t *testing.T) {
	t.Helper()
	client := framework.Admin(t).Kubernetes
	live, err := client.AppsV1().Deployments(s.namespace).Get(t.Context(), s.deployment, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &live.Spec.Template.Spec
	for i := range pod.Volumes {
		volume := pod.Volumes[i].ConfigMap
		if volume == nil || volume.Optional != nil {
			continue // What agents read is not mounted by pods without one.
		}
		config, err := client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), volume.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range config.Data {
			config.Data[name] = strings.NewReplacer("~^/site/releases/", `~^/git/root/\.worktrees/`, "/site/releases/", "/git/root/.worktrees/", "/site/", "/git/root/").Replace(text)
		}
		former := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "former", Namespace: s.namespace}, Data: config.Data}
		if _, err := client.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), former, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		volume.Name = former.Name
	}
	gitSync := pod.InitContainers[1]
	gitSync.Command, gitSync.VolumeMounts = nil, gitSync.VolumeMounts[:2]
	gitSync.Args = []string{
		"--repo=" + s.repository.url, "--ref=HEAD", "--root=/git/root", "--link=current", "--period=10s", "--sync-timeout=120s", "--max-failures=-1",
		"--stale-worktree-timeout=10m", "--submodules=off", "--http-bind=:8082", "--http-metrics=true",
	}
	pod.InitContainers = []corev1.Container{gitSync}
	pod.Containers[0].VolumeMounts[0] = corev1.VolumeMount{Name: "git", MountPath: "/git", ReadOnly: true}
	former := appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: live.Name, Namespace: live.Namespace, Labels: live.Labels, OwnerReferences: live.OwnerReferences},
		Spec:       live.Spec,
	}
	data, err := json.Marshal(former)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.AppsV1().Deployments(s.namespace).Patch(t.Context(), live.Name, types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: "website-controller", Force: ptr.To(true)}); err != nil {
		t.Fatal(err)
	}
}
