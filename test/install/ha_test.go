package install

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/robustness/check"
	"github.com/kubesites/website-apiserver/test/robustness/history"
	"github.com/kubesites/website-apiserver/test/robustness/load"
)

var withHA = flag.Bool("ha", false, "run TestHA, which installs artifacts/ha and kills each of its pods")

const (
	// readOutage bounds the time of failing reads after a pod is killed.
	readOutage = 2 * time.Second
	// wantedWrites is the number of acknowledged writes per second meanwhile.
	wantedWrites = 100
	// calmTime is the duration of the load before and after a kill.
	calmTime = 4 * time.Second
)

// TestHA installs artifacts/ha on a real node and kills each pod twice: its process, and the
// pod itself. Clients write and read Websites through kube-apiserver continuously. The history
// of etcd has every acknowledged write, and reads fail only briefly.
func TestHA(t *testing.T) {
	if !*withHA {
		t.Skip("-ha is not set: \"make test-ha\" takes minutes")
	}
	makeArtifacts(t)
	c := installHA(t)
	keepHA(t, c)
	before := children(t, c.sites)
	for _, program := range slices.Sorted(maps.Keys(haPods)) {
		for i := range haPods[program] {
			t.Run(fmt.Sprintf("%s %d", program, i), func(t *testing.T) { c.testKills(t, program, i) })
		}
	}
	t.Run("another CA of etcd", c.testReplacedCA)
	publish(t, c.sites, "second")
	waitPage(t, c.sites, "second")
	waitPage(t, c.sites, "first")
	after := children(t, c.sites)
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("%s was %s, is %q", name, uid, after[name])
		}
	}
}

// testKills kills a pod in both ways under load.
func (c *haCluster) testKills(t *testing.T, program string, i int) {
	etcd := c.etcd(t)
	recorder, namespace := history.NewRecorder(), framework.NewNamespace(t)
	connecting, cancel := context.WithTimeout(t.Context(), framework.WaitTimeout)
	defer cancel()
	follower, err := load.NewFollower(connecting, etcd,
		"/registry/mycontroller.nevermosby.io/websites/"+namespace+"/", recorder)
	if err != nil {
		t.Fatal(err)
	}
	follower.Start()
	running, err := load.Start(context.WithoutCancel(t.Context()), load.Options{
		Targets: map[string]*rest.Config{history.Balanced: framework.AdminConfig(t)}, Namespace: namespace,
		Recorder: recorder,
		// A loaded machine makes fewer. Readers make about a seventh of the requests.
		Rate: 2 * wantedWrites, Writers: 30, WritesPerRead: 10, Websites: 60,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Stop)
	calm(t)
	type event struct {
		name       string
		start, end int64
	}
	var events []event
	for _, kill := range []struct {
		name string
		kill func(*testing.T, corev1.Pod)
	}{{"its process is killed", c.crash}, {"it is deleted", c.remove}} {
		pods, err := c.list(t.Context(), program)
		if err != nil || len(pods) != haPods[program] {
			t.Fatalf("there are %d pods of %s, %v", len(pods), program, err)
		}
		name := kill.name
		if program == "website-etcd" && leads(t, etcd, i) {
			name += ", as the leader"
		}
		start := recorder.Now()
		kill.kill(t, pods[i])
		c.waitReady(t)
		calm(t)
		events = append(events, event{name, start, recorder.Now()})
	}
	last, err := running.Finish(t.Context())
	if err != nil {
		t.Errorf("the load has stalled: %v", err)
	}
	framework.WaitFor(t, "etcd has reported all changes", func(context.Context) error {
		if !recorder.HasChange(last) {
			return fmt.Errorf("revision %d is missing", last)
		}
		return nil
	})
	if err := follower.Stop(); err != nil {
		t.Error(err)
	}
	h := recorder.History()
	for _, violation := range check.Run(h) {
		t.Errorf("%s", violation)
	}
	calmRate := writeRate(h, 0, events[0].start)
	if calmRate < wantedWrites {
		t.Logf("this machine makes fewer than %d writes per second: %.0f before the first kill", wantedWrites, calmRate)
	}
	for _, e := range events {
		// The end of the load interrupts writes.
		e.end -= int64(calmTime / 2)
		reads, failedReads := h.Outage(e.start, e.end, func(o *history.Operation) bool { return !o.Verb.Writes() })
		writesFor, failedWrites := h.Outage(e.start, e.end, func(o *history.Operation) bool { return o.Verb.Writes() })
		t.Logf("%s %d, %s: %.0f writes per second (%.0f before); %d reads failed within %s, %d writes within %s; ready "+
			"again after %s",
			program, i, e.name, writeRate(h, e.start, e.end), calmRate, failedReads, reads.Round(time.Millisecond),
			failedWrites, writesFor.Round(time.Millisecond),
			(time.Duration(e.end-e.start) - calmTime/2).Round(100*time.Millisecond))
		if reads >= readOutage {
			t.Errorf("%s: reads failed for %s, want less than %s: %v", e.name, reads, readOutage, messages(h, e.start, e.end))
		}
	}
}

// testReplacedCA replaces the CA of etcd as documented in docs/install.md.
func (c *haCluster) testReplacedCA(t *testing.T) {
	listed, start := startLists(t), time.Now()
	framework.Kubectl(t, "delete", "secret", "--namespace="+systemNamespace, "website-etcd-ca", "website-etcd-server",
		"website-etcd-client")
	framework.WaitWithin(t, 2*time.Minute, "there are certificates of another CA", func(ctx context.Context) error {
		for _, name := range []string{"website-etcd-server", "website-etcd-client"} {
			if _, err := c.client.CoreV1().Secrets(systemNamespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	framework.Kubectl(t, "delete", "pod", "--namespace="+systemNamespace, "-l",
		"app.kubernetes.io/name in (website-etcd, website-apiserver)")
	c.waitReady(t)
	framework.WaitFor(t, "Websites are served", func(ctx context.Context) error {
		_, err := framework.Websites(t, c.sites).List(ctx, metav1.ListOptions{})
		return err
	})
	lists, failed, outage := listed.finish()
	t.Logf("the CA of etcd was replaced within %s: %d of %d lists failed, within %s",
		time.Since(start).Round(time.Second), failed, lists, outage.Round(time.Millisecond))
}

// calm lets the load run.
func calm(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(calmTime):
	case <-t.Context().Done():
		t.Fatal(context.Cause(t.Context()))
	}
}

// writeRate returns the number of acknowledged writes per second.
func writeRate(h *history.History, from, to int64) float64 {
	n := 0
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Verb.Writes() && o.Outcome == history.OK && o.Return >= from && o.Return < to {
			n++
		}
	}
	return float64(n) / time.Duration(to-from).Seconds()
}

// messages counts the failed requests by message.
func messages(h *history.History, from, to int64) map[string]int {
	found := map[string]int{}
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Outcome == history.Unknown && o.Call >= from && o.Call <= to {
			found[o.Error]++
		}
	}
	return found
}
