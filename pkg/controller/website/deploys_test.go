package website

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// deployingPods are pods that fetch commit B when they are requested to sync, and serve a commit on
// request.
type deployingPods struct {
	mu     sync.Mutex
	status agent.Status
	// synced are the requests to sync.
	synced []string
}

func newDeployingPods() *deployingPods {
	contact := time.Now()
	return &deployingPods{status: agent.Status{Revision: "1", Commit: commitA, Newest: commitA, PathFound: true,
		LastContact: &contact}}
}

func (p *deployingPods) Get(_ context.Context, _ *cached.Pod, request podprobe.Request) (int, []byte, error) {
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
	if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website,
		testNamespace); err != nil {
		t.Fatal(err)
	}
}

func isReadyPod(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}

// keepRequests makes the fake ignore changes of the spec and of sync requests in status updates, as
// the server does.
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

// TestDeploys: a request to sync is completed by the pods and in the status, and a pin reaches them
// and is removed again; the history has all releases.
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
		eventually(t, "the pods serve the wanted commit", serves(want))
	}

	var causes []v1beta1.ReleaseCause
	for _, release := range f.website(testName).Status.History {
		causes = append(causes, release.Cause)
	}
	// These fakes have no rollout, so the spec counts as changed from the beginning.
	if len(causes) != 4 || causes[3] != v1beta1.ReleaseCauseSpec || causes[1] != v1beta1.ReleaseCauseRollback ||
		causes[0] != v1beta1.ReleaseCauseSpec {
		t.Errorf("the history is %v", causes)
	}
	pods.mu.Lock()
	defer pods.mu.Unlock()
	if len(pods.synced) != 1 || !strings.HasPrefix(pods.synced[0], "3.") {
		t.Errorf("the pod was requested to sync for %v", pods.synced)
	}
}

// TestAuthorsAreOmitted: with --omit-personal-names, the history has no authors of commits.
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

// TestPodsDoNotWaitForReconciliation: a changed pin, and a request to sync that another controller
// has started, reach the pods though no worker is free.
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
	eventually(t, "the pod is requested to sync",
		is(func(s agent.Status) bool { return strings.HasPrefix(s.Synced, "3.") }))
	f.updateWebsite(t, func(website *v1beta1.Website) { website.Generation, website.Spec.Pin = 2, pinTo(commitA) })
	eventually(t, "the pod serves the pin",
		is(func(s agent.Status) bool { return s.Pin != nil && s.Pin.Commit == commitA }))
	f.updateWebsite(t, func(website *v1beta1.Website) {
		website.Generation, website.Spec.Pin, website.Spec.Suspend = 3, nil, new(true)
	})
	eventually(t, "the pod keeps its commit", is(func(s agent.Status) bool {
		return s.Pin.Commit == requests.PinCurrent && s.Commit == commitA
	}))
	f.updateWebsite(t, func(website *v1beta1.Website) {
		website.Generation, website.Spec.Pin, website.Spec.Suspend = 4, nil, new(false)
	})
	eventually(t, "the pod serves the newest commit",
		is(func(s agent.Status) bool { return s.Pin.Commit == "" && s.Commit == commitB }))
	// After a restore of the store, the generation is an earlier one.
	f.updateWebsite(t, func(website *v1beta1.Website) { website.Generation, website.Spec.Pin = 2, pinTo(commitA) })
	eventually(t, "the pod serves the pin of the restored Website",
		is(func(s agent.Status) bool { return s.Pin.Commit == commitA }))
}

// TestUnwrittenSpecIsNotSettled: pods that serve the former spec, because the Deployment could not be
// written, do not count as serving the current one.
func TestUnwrittenSpecIsNotSettled(t *testing.T) {
	website := newWebsite(func(website *v1beta1.Website) {
		website.Generation = 2
		website.Status.ObservedGeneration, website.Status.Commit = 1, commitA
		website.Status.History = []v1beta1.WebsiteRelease{{Commit: commitA}}
	})
	f := newFixture(t, website)
	input := &status.Input{
		Website: website, Now: testNow,
		Deployment: &cached.Deployment{
			Replicas: *website.Spec.Replicas,
			Status:   cached.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1},
		},
		Pods: []status.Pod{
			{Pod: cached.OfPod(newPod()), Ready: true, Observed: true,
				Observation: workload.Observation{Reachable: true, Commit: commitA}},
		},
	}
	isSettled := func() bool {
		f.controller.reconciler.memory.observe(website).Recall(input)
		return !input.Origin.SpecChanged
	}
	f.controller.reconciler.prepareDeploys(f.reconciliation(input), []*problem.Problem{problem.Classify(errBroken)})
	if isSettled() {
		t.Error("the pods serve a spec that could not be written")
	}
	f.controller.reconciler.prepareDeploys(f.reconciliation(input), nil)
	if !isSettled() {
		t.Error("the pods do not serve the written spec")
	}
}
