package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestKilledKubelet is not parallel: no other test could start a pod meanwhile.
func TestKilledKubelet(t *testing.T) {
	s := newSite(t, framework.WithReplicas(2))
	kubelet := framework.Cluster.Process("kubelet")
	visitors := startTraffic(t, s)
	t.Cleanup(func() {
		// Without it, no other test could start a pod.
		if err := kubelet.Start(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := kubelet.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Pods fetch and serve without the kubelet.
	second := s.repository.release(t, "release-2")
	s.waitLiveWithin(t, syncPeriod+syncMargin, second)
	if err := kubelet.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := kubelet.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "scale", "website", s.name, "--replicas=3")
	s.waitLive(t, second)
	visitors.finish(t)
}

// TestKilledAgent kills the agent with its fetch. The pod is not ready until the agent
// runs again, so a second replica is needed to keep the site online.
func TestKilledAgent(t *testing.T) {
	t.Parallel()
	s := newSite(t, framework.WithReplicas(2))
	visitors := startTraffic(t, s)
	pods, err := s.pods(t.Context(), framework.Admin(t).Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	killContainer(t, s, pods[0], "git-sync")
	s.waitLive(t, s.repository.release(t, "release-2"))
	visitors.finish(t)
}

// TestKilledGit kills git and its child processes whenever it runs, and not the agent: the site stays online, also
// with one replica, and the commit is published once git can finish.
func TestKilledGit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	visitors, pod := startTraffic(t, s), s.pod(t)
	status, ok := container(pod, "git-sync")
	_, id, found := strings.Cut(status.ContainerID, "://")
	if !ok || !found {
		t.Fatalf("the container does not run: %+v", status)
	}
	last, releases, killed := s.repository.release(t, "release-2"), 2, 0
	framework.WaitFor(t, "a fetch has failed as git was killed", func(ctx context.Context) error {
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			killed += killGit(t, id)
			time.Sleep(5 * time.Millisecond)
		}
		err := podSyncFailed(ctx, pod)
		if err != nil && adminGet(ctx, pod, adminPort, "/commit").body == last+"\n" {
			// The fetch was faster than killGit, as on a busy machine. Another commit brings another fetch.
			releases++
			last = s.repository.release(t, fmt.Sprintf("release-%d", releases))
		}
		return err
	})
	t.Logf("killed %d processes in the fetches of %d commits", killed, releases-1)
	s.waitLive(t, last)
	visitors.finish(t)
	if now := s.pod(t); now.UID != pod.UID || restarts(now) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want %s as it was", now.Name, restarts(now), pod.Name)
	}
}

// killGit kills all processes of a container whose name begins with git, and returns how many there were.
func killGit(t *testing.T, id string) (killed int) {
	t.Helper()
	for _, pid := range framework.ContainerProcesses(t, id) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err == nil && strings.HasPrefix(string(name), "git") && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// TestKilledNginx kills nginx: it is restarted, serves the same commit, and
// follows the repository.
func TestKilledNginx(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, before := s.repository.git(t, "rev-parse", "HEAD"), s.pod(t)
	killContainer(t, s, before, "nginx")
	s.waitLive(t, first)
	if after := s.pod(t); after.UID != before.UID {
		t.Errorf("pod %s has replaced %s, want the same one", after.Name, before.Name)
	}
	s.waitLive(t, s.repository.release(t, "release-2"))
}
