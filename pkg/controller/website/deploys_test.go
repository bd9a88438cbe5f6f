package website

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"

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
	// synced are the requests to sync.
	synced []string
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
		switch pin := p.status.Pin.Commit; pin {
		case requests.PinCurrent:
		case "":
			p.status.Commit = p.status.Newest
		default:
			p.status.Commit = pin
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
			updated.Status.Sync.LastRequest = requested.LastRequest
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

	request := v1beta1.WebsiteSyncRecord{ID: 3, Time: metav1.Now(), By: "ci"}
	f.updateWebsite(t, func(website *v1beta1.Website) {
		website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: request}
	})
	eventually(t, "the request to sync is completed", func() bool {
		sync := f.website(testName).Status.Sync
		return sync.LastCompleted != nil && sync.LastCompleted.ID == 3
	})
	sync := f.website(testName).Status.Sync
	if sync.LastCompleted.Result != v1beta1.SyncSucceeded || sync.LastCompleted.Commit != commitB || sync.StartedID != 3 {
		t.Errorf("the request was answered with %+v", sync.LastCompleted)
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
	if len(pods.synced) != 1 || !strings.HasPrefix(pods.synced[0], "3.") {
		t.Errorf("the pod was requested to sync for %v", pods.synced)
	}
}

// TestAuthorsAreOmitted: with --omit-personal-names, the history does not say who wrote a commit.
func TestAuthorsAreOmitted(t *testing.T) {
	for _, omits := range []bool{false, true} {
		pods := newDeployingPods()
		pods.status.Subject, pods.status.Author = "First", "A. Author"
		f := newFixture(t, newWebsite()).probing(pods)
		f.controller.pods.omitAuthors = omits
		f.store(newPod(isReadyPod))
		start(t, f, 1)
		eventually(t, "the first commit is published", func() bool { return len(f.website(testName).Status.History) > 0 })
		if got := f.website(testName).Status.History[0]; got.Subject != "First" || (got.Author == "") != omits {
			t.Errorf("omitted %t: the release is %+v", omits, got)
		}
	}
}

// TestPodsDoNotWaitForReconciliation: a changed pin, and a request to sync that another
// controller has started, reach the pods though no worker is free.
func TestPodsDoNotWaitForReconciliation(t *testing.T) {
	pods := newDeployingPods()
	f := newFixture(t, newWebsite(func(website *v1beta1.Website) {
		website.Generation = 1
		website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 3}, StartedID: 3}
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
	eventually(t, "the pod is requested to sync", is(func(s agent.Status) bool { return strings.HasPrefix(s.Synced, "3.") }))
	f.updateWebsite(t, func(website *v1beta1.Website) { website.Generation, website.Spec.Pin = 2, pinTo(commitA) })
	eventually(t, "the pod serves the pin", is(func(s agent.Status) bool { return s.Pin != nil && s.Pin.Commit == commitA }))
	f.updateWebsite(t, func(website *v1beta1.Website) {
		website.Generation, website.Spec.Pin, website.Spec.Suspend = 3, nil, new(true)
	})
	eventually(t, "the pod keeps what it serves", is(func(s agent.Status) bool {
		return s.Pin.Commit == requests.PinCurrent && s.Commit == commitA
	}))
	f.updateWebsite(t, func(website *v1beta1.Website) {
		website.Generation, website.Spec.Pin, website.Spec.Suspend = 4, nil, new(false)
	})
	eventually(t, "the pod serves the newest commit", is(func(s agent.Status) bool { return s.Pin.Commit == "" && s.Commit == commitB }))
	// After a restore of the store, the generation is an earlier one.
	f.updateWebsite(t, func(website *v1beta1.Website) { website.Generation, website.Spec.Pin = 2, pinTo(commitA) })
	eventually(t, "the pod serves the pin of the restored Website", is(func(s agent.Status) bool { return s.Pin.Commit == commitA }))
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
	website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 4}, StartedID: 4}
	m.see(website)
	clock.SetTime(begun.Add(time.Minute))
	if in := recall(website); !in.SyncRequest.Begun.Equal(begun) {
		t.Errorf("the request is worked on since %v, want %v", in.SyncRequest.Begun, begun)
	}
	website.Status.Sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{ID: 4}
	if in := recall(website); !in.SyncRequest.Begun.IsZero() {
		t.Errorf("no request is worked on since %v", in.SyncRequest.Begun)
	}
	again := website.DeepCopy()
	again.UID, again.Generation = "another", 1
	if in := recall(again); !in.SyncRequest.MayStart || in.Origin.SpecChangedTime != (time.Time{}) {
		t.Errorf("another Website of that name: %+v", in)
	}
}

// TestTokensOfRequests: pods take a token that they know for answered, so a request that gets an
// id again after a restore of the store must have another.
func TestTokensOfRequests(t *testing.T) {
	m := newDeployMemory(testingclock.NewFakePassiveClock(testNow))
	token := func(requested, second, started, completed int64) string {
		website := newWebsite(func(website *v1beta1.Website) {
			website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: requested, Time: metav1.Unix(second, 0)}, StartedID: started}
			if completed != 0 {
				website.Status.Sync.LastCompleted = &v1beta1.WebsiteSyncCompletion{ID: completed}
			}
		})
		m.see(website)
		return m.syncToken(website)
	}
	for _, step := range []struct {
		when                                  string
		requested, second, started, completed int64
		want                                  string
	}{
		{"pending", 8, 100, 7, 7, ""},
		{"started", 8, 100, 8, 7, "8.100"},
		{"requested again", 9, 101, 8, 7, "8.100"},
		{"an event of before is late", 8, 100, 7, 7, ""},
		{"requested again, with another event", 9, 101, 8, 7, "8.100"},
		{"completed", 9, 101, 8, 8, ""},
		{"the next is started", 9, 101, 9, 8, "9.101"},
		{"the store is restored", 7, 90, 7, 7, ""},
		{"requested after that", 8, 200, 7, 7, ""},
		{"started after that", 8, 200, 8, 7, "8.200"},
		{"another controller, when requested again", 12, 300, 11, 8, "11." + strconv.FormatInt(testNow.Unix(), 10)},
	} {
		if got := token(step.requested, step.second, step.started, step.completed); got != step.want {
			t.Errorf("%s: the token is %q, want %q", step.when, got, step.want)
		}
	}
}

// TestWhenRequestsAreObserved: delays count from the first observation of a request.
func TestWhenRequestsAreObserved(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(testNow)
	m := newDeployMemory(clock)
	website := newWebsite(func(website *v1beta1.Website) {
		website.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 4, Time: metav1.NewTime(testNow.Add(-time.Minute))}}
	})
	observed := func(change func(*v1beta1.WebsiteSyncStatus)) time.Time {
		clock.SetTime(clock.Now().Add(time.Second))
		change(website.Status.Sync)
		m.see(website)
		in := &status.Input{Website: website, Now: clock.Now()}
		m.recall(in)
		if status.RunningSync(website.Status.Sync) == 0 {
			return m.completedSync(website)
		}
		return in.SyncRequest.Observed
	}
	if got := observed(func(s *v1beta1.WebsiteSyncStatus) { s.StartedID = 4 }); !got.Equal(testNow.Add(-time.Minute)) {
		t.Errorf("a request of before this controller was observed at %v, want its time", got)
	}
	second := func(s *v1beta1.WebsiteSyncStatus) {
		s.LastCompleted, s.LastRequest.ID = &v1beta1.WebsiteSyncCompletion{ID: 4}, 5
	}
	if got := observed(second); !got.Equal(testNow.Add(-time.Minute)) {
		t.Errorf("the completed request was observed at %v", got)
	}
	want := testNow.Add(2 * time.Second)
	if got := observed(func(s *v1beta1.WebsiteSyncStatus) { s.StartedID = 5 }); !got.Equal(want) {
		t.Errorf("the second request was observed at %v, want %v", got, want)
	}
	if got := observed(func(s *v1beta1.WebsiteSyncStatus) { s.LastCompleted.ID = 5 }); !got.Equal(want) {
		t.Errorf("the second request, completed, was observed at %v, want %v", got, want)
	}
}
