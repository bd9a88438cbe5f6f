package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

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
	// Pods need no kubelet to fetch and to serve.
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

// TestKilledGitSync kills what fetches. The pod is not ready until that runs
// again, so that it takes another one for visitors not to notice.
func TestKilledGitSync(t *testing.T) {
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

// TestKilledGitSyncProcess kills git-sync and not its parent: nothing of it is to be seen,
// also with one replica, and the next commit is published.
func TestKilledGitSyncProcess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	visitors, pod := startTraffic(t, s), s.pod(t)
	status, ok := container(pod, "git-sync")
	_, id, found := strings.Cut(status.ContainerID, "://")
	if !ok || !found {
		t.Fatalf("git-sync does not run: %+v", status)
	}
	killed := 0
	for _, pid := range framework.ContainerProcesses(t, id) {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && strings.TrimSpace(string(name)) == "git-sync" {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			killed++
		}
	}
	if killed != 1 {
		t.Fatalf("%d processes are git-sync", killed)
	}
	framework.WaitFor(t, "the agent has restarted it", func(ctx context.Context) error {
		a := adminGet(ctx, pod, adminPort, "/status")
		if a.err != nil || !strings.Contains(a.body, `"gitSyncRestarts":1`) {
			return fmt.Errorf("/status: %v", a)
		}
		return nil
	})
	s.waitLive(t, s.repository.release(t, "release-2"))
	visitors.finish(t)
	if now := s.pod(t); now.UID != pod.UID || restarts(now) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want %s as it was", now.Name, restarts(now), pod.Name)
	}
}

// TestKilledNginx kills what serves: it comes back by itself, with the commit
// it had, and keeps following the repository.
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
