package e2e

import (
	"testing"
)

// TestKilledKubelet is not parallel: no other test could start a pod meanwhile.
func TestKilledKubelet(t *testing.T) {
	s := newSite(t, withReplicas(2))
	kubelet := cluster.Process("kubelet")
	visitors := startTraffic(t, s)
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
	s := newSite(t, withReplicas(2))
	visitors := startTraffic(t, s)
	pods, err := s.pods(t.Context(), kubernetesClient(t))
	if err != nil {
		t.Fatal(err)
	}
	killContainer(t, s, pods[0], "git-sync")
	s.waitLive(t, s.repository.release(t, "release-2"))
	visitors.finish(t)
}

// TestKilledNginx kills what serves: it comes back by itself, with the commit
// it had, and goes on to follow the repository.
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
