package website

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// deployingPods are pods that fetch commit B when they are requested to sync, and serve what
// they are requested to serve.
type deployingPods struct {
	mu     sync.Mutex
	status agent.Status
	// synced are the requests to sync, and pins the commits to serve.
	synced, pins []string
}

func newDeployingPods() *deployingPods {
	contact := time.Now()
	return &deployingPods{status: agent.Status{Revision: "1", Commit: commitA, Newest: commitA, PathFound: true, LastContact: &contact}}
}

func (p *deployingPods) Get(_ context.Context, _ *corev1.Pod, request podprobe.Request) (int, []byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := request.Query.Get(requests.ParameterSync); id != "" && id != p.status.Synced {
		p.synced = append(p.synced, id)
		p.status.Synced, p.status.Commit, p.status.Newest, p.status.Subject = id, commitB, commitB, "Second"
	}
	if request.Query.Has(requests.ParameterPin) {
		p.status.Pin = &agent.PinStatus{Commit: request.Query.Get(requests.ParameterPin)}
		p.pins = append(p.pins, p.status.Pin.Commit)
		if p.status.Commit = p.status.Pin.Commit; p.status.Commit == "" {
			p.status.Commit = p.status.Newest
		}
	}
	body, err := json.Marshal(p.status)
	return http.StatusOK, body, err
}

// updateWebsite changes a Website on the API server.
func (f *fixture) updateWebsite(t *testing.T, change func(*v1beta1.Website)) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	website := f.website(testName).DeepCopy()
	change(website)
	if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website, testNamespace); err != nil {
		t.Fatal(err)
	}
}

func isReadyPod(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}

// keepRequests has the fake keep, when a status is updated, the spec and who has requested
// to sync, as the server does.
func (f *fixture) keepRequests() {
	websites := v1beta1.SchemeGroupVersion.WithResource("websites")
	f.websites.PrependReactor("update", "websites", func(action clienttesting.Action) (bool, runtime.Object, error) {
		update, ok := action.(clienttesting.UpdateAction)
		if !ok || action.GetSubresource() != "status" {
			return false, nil, nil
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		current := f.website(testName)
		updated := current.DeepCopy()
		updated.Status = update.GetObject().(*v1beta1.Website).Status
		if requested := current.Status.Sync; requested != nil {
			if updated.Status.Sync == nil {
				updated.Status.Sync = &v1beta1.WebsiteSyncStatus{}
			}
			updated.Status.Sync.RequestedTime, updated.Status.Sync.RequestedBy = requested.RequestedTime, requested.RequestedBy
		}
		return true, updated, f.websites.Tracker().Update(websites, updated, testNamespace)
	})
}

// TestDeploys: a request to sync is answered by the pods and in the status, and a pin reaches
// them and is taken back, with the history of it all.
func TestDeploys(t *testing.T) {
	pods := newDeployingPods()
	f := newFixture(t, newWebsite(func(website *v1beta1.Website) { website.Generation = 1 })).probing(pods)
	f.keepRequests()
	f.store(newPod(isReadyPod))
	start(t, f, 1)
	serves := func(commit string) func() bool {
		return func() bool {
			history := f.website(testName).Status.History
			return len(history) > 0 && history[0].Commit == commit && f.website(testName).Status.Commit == commit
		}
	}
	eventually(t, "the first commit is published", serves(commitA))

	requested := metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
	f.updateWebsite(t, func(website *v1beta1.Website) {
		website.Status.Sync = &v1beta1.WebsiteSyncStatus{RequestedTime: requested, RequestedBy: "ci"}
	})
	eventually(t, "the request to sync is completed", func() bool {
		sync := f.website(testName).Status.Sync
		return sync.Completed != nil && sync.Completed.RequestedTime.Equal(&requested)
	})
	sync := f.website(testName).Status.Sync
	if sync.Completed.Result != v1beta1.SyncSucceeded || sync.Completed.Commit != commitB || !sync.StartedTime.Equal(&requested) {
		t.Errorf("the request was answered with %+v", sync.Completed)
	}
	for _, pin := range []string{commitA, ""} {
		want := pin
		if pin == "" {
			want = commitB
		}
		f.updateWebsite(t, func(website *v1beta1.Website) {
			website.Spec.Pin = pinTo(pin)
			website.Generation++
		})
		eventually(t, "the pods serve what is wanted", serves(want))
	}

	var causes []v1beta1.ReleaseCause
	for _, release := range f.website(testName).Status.History {
		causes = append(causes, release.Cause)
	}
	// Without a rollout in these fakes, the spec counts as changed from the beginning.
	if len(causes) != 4 || causes[3] != v1beta1.ReleaseCauseSpec || causes[1] != v1beta1.ReleaseCauseRollback || causes[0] != v1beta1.ReleaseCauseSpec {
		t.Errorf("the history is %v", causes)
	}
	pods.mu.Lock()
	defer pods.mu.Unlock()
	if len(pods.synced) != 1 || pods.synced[0] != status.SyncID(requested) {
		t.Errorf("the pod was requested to sync for %v", pods.synced)
	}
}

// TestPodsDoNotWaitForReconciliation: a changed pin, and a request to sync that another
// controller has started, reach the pods though no worker is free.
func TestPodsDoNotWaitForReconciliation(t *testing.T) {
	pods := newDeployingPods()
	requested := metav1.NewMicroTime(testNow)
	f := newFixture(t, newWebsite(func(website *v1beta1.Website) {
		website.Generation = 1
		website.Status.Sync = &v1beta1.WebsiteSyncStatus{RequestedTime: requested, StartedTime: &requested}
	})).probing(pods)
	f.store(newPod(isReadyPod))
	start(t, f, 0)
	is := func(condition func(agent.Status) bool) func() bool {
		return func() bool {
			pods.mu.Lock()
			defer pods.mu.Unlock()
			return condition(pods.status)
		}
	}
	eventually(t, "the pod is requested to sync", is(func(s agent.Status) bool { return s.Synced == status.SyncID(requested) }))
	f.updateWebsite(t, func(website *v1beta1.Website) { website.Generation, website.Spec.Pin = 2, pinTo(commitA) })
	eventually(t, "the pod serves the pin", is(func(s agent.Status) bool { return s.Pin != nil && s.Pin.Commit == commitA }))
	// While it is suspended, only the reconciliation knows on which commit it stays.
	f.updateWebsite(t, func(website *v1beta1.Website) {
		website.Generation, website.Spec.Pin, website.Spec.Suspend = 3, pinTo(commitB), new(true)
	})
	eventually(t, "the change is in the cache", func() bool {
		website, err := f.controller.websites.Websites(testNamespace).Get(testName)
		return err == nil && website.Generation == 3
	})
	f.updateWebsite(t, func(website *v1beta1.Website) {
		website.Generation, website.Spec.Pin, website.Spec.Suspend = 4, nil, new(false)
	})
	eventually(t, "the pod serves the newest commit", is(func(s agent.Status) bool { return s.Pin.Commit == "" && s.Commit == commitB }))
	// After a restore of the store, the generation is an earlier one.
	f.updateWebsite(t, func(website *v1beta1.Website) { website.Generation, website.Spec.Pin = 2, pinTo(commitA) })
	eventually(t, "the pod serves the pin of the restored Website", is(func(s agent.Status) bool { return s.Pin.Commit == commitA }))
	pods.mu.Lock()
	defer pods.mu.Unlock()
	if slices.Contains(pods.pins, commitB) {
		t.Errorf("the pod was requested to serve %v", pods.pins)
	}
}

// TestUnwrittenSpecIsNotSettled: pods that serve the spec of before, because the Deployment could not be written, are no
// sign that they serve the current one.
func TestUnwrittenSpecIsNotSettled(t *testing.T) {
	website := newWebsite(func(website *v1beta1.Website) {
		website.Generation = 2
		website.Status.ObservedGeneration, website.Status.Commit = 1, commitA
		website.Status.History = []v1beta1.WebsiteRelease{{Commit: commitA}}
	})
	f := newFixture(t, website)
	found := &status.Input{
		Website: website, Now: testNow,
		Deployment: &appsv1.Deployment{
			Spec:   appsv1.DeploymentSpec{Replicas: website.Spec.Replicas},
			Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
		},
		Pods: []status.Pod{{Pod: newPod(), Ready: true, Observed: true, Observation: workload.Observation{Reachable: true, Commit: commitA}}},
	}
	isSettled := func() bool {
		f.controller.reconciler.deploys.recall(found)
		return !found.Origin.SpecChanged
	}
	f.controller.reconciler.prepareDeploys(found, []*problem.Problem{problem.Classify(errBroken)})
	if isSettled() {
		t.Error("the pods serve a spec that could not be written")
	}
	f.controller.reconciler.prepareDeploys(found, nil)
	if !isSettled() {
		t.Error("the pods do not serve what was written")
	}
}

// TestDeployMemory: requests to sync are started at intervals, and what is remembered begins
// with what the status says.
func TestDeployMemory(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(testNow)
	m := newDeployMemory(clock)
	recall := func(website *v1beta1.Website) *status.Input {
		in := &status.Input{Website: website, Now: clock.Now()}
		m.recall(in)
		return in
	}
	website := newWebsite(func(website *v1beta1.Website) {
		website.Generation = 5
		website.Status.Conditions = []metav1.Condition{{Type: v1beta1.WebsiteSynced, ObservedGeneration: 4}}
	})
	if in := recall(website); !in.Origin.SpecChanged || !in.Origin.SpecChangedTime.IsZero() {
		t.Errorf("a spec that has changed before: %+v", in.Origin)
	}
	m.settle(website)
	if in := recall(website); in.Origin.SpecChanged {
		t.Errorf("a spec that all pods serve: %+v", in.Origin)
	}
	clock.SetTime(testNow.Add(time.Minute))
	website.Generation = 6
	m.see(website)
	clock.SetTime(testNow.Add(2 * time.Minute))
	if in := recall(website); !in.Origin.SpecChanged || !in.Origin.SpecChangedTime.Equal(testNow.Add(time.Minute)) {
		t.Errorf("a spec that has changed since: %+v", in.Origin)
	}

	started := 0
	for range 100 {
		if in := recall(website); in.SyncRequest.MayStart {
			started++
			m.started(website)
		}
		clock.SetTime(clock.Now().Add(200 * time.Millisecond))
	}
	if want := syncBurst + 3; started != want {
		t.Errorf("%d requests were started in 20 s, want %d", started, want)
	}
	m.started(website)
	if wait := m.untilStart(website, clock.Now()); wait <= 0 || wait > syncInterval {
		t.Errorf("the next request waits for %v", wait)
	}
	seen := clock.Now()
	clock.SetTime(seen.Add(time.Hour))
	if wait := m.untilStart(website, seen); wait <= 0 {
		t.Error("the time since the Website was looked at counts for the next request, of which nothing else would tell then")
	}

	begun := clock.Now()
	website.Status.Sync = &v1beta1.WebsiteSyncStatus{RequestedTime: metav1.NewMicroTime(begun), StartedTime: ptr.To(metav1.NewMicroTime(begun))}
	m.see(website)
	clock.SetTime(begun.Add(time.Minute))
	if in := recall(website); !in.SyncRequest.Begun.Equal(begun) {
		t.Errorf("the request is worked on since %v, want %v", in.SyncRequest.Begun, begun)
	}
	website.Status.Sync.Completed = &v1beta1.WebsiteSyncCompletion{RequestedTime: website.Status.Sync.RequestedTime}
	if in := recall(website); !in.SyncRequest.Begun.IsZero() {
		t.Errorf("no request is worked on since %v", in.SyncRequest.Begun)
	}
	again := website.DeepCopy()
	again.UID, again.Generation = "another", 1
	if in := recall(again); !in.SyncRequest.MayStart || in.Origin.SpecChangedTime != (time.Time{}) {
		t.Errorf("another Website of that name: %+v", in)
	}
}
