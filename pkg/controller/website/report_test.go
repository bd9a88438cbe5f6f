package website

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

func readyStatus(ready bool, available int32) *v1beta1.WebsiteStatus {
	status := metav1.ConditionFalse
	if ready {
		status = metav1.ConditionTrue
	}
	return &v1beta1.WebsiteStatus{AvailableReplicas: available,
		Conditions: []metav1.Condition{{Type: "Ready", Status: status}}}
}

// TestReportable: an error that a retry may resolve is not reported, and leaves the status open; a
// persistent error is reported unless there is a better reason.
func TestReportable(t *testing.T) {
	conflict := problem.Classify(apierrors.NewConflict(v1beta1.Resource("websites"), testName, errors.New("changed")))
	broken, taken := problem.Classify(errBroken), problem.NameTaken("x", false, "taken")
	for name, test := range map[string]struct {
		problems  []*problem.Problem
		requeues  int
		want      string
		wantKnown bool
	}{
		"all well":              {nil, 0, "", true},
		"a conflict":            {[]*problem.Problem{conflict}, 0, "", false},
		"a conflict that lasts": {[]*problem.Problem{conflict}, 2 * problem.Persistent, "", false},
		"an error":              {[]*problem.Problem{broken}, problem.Persistent - 1, "", false},
		"an error that lasts": {[]*problem.Problem{conflict, broken}, problem.Persistent,
			v1beta1.WebsiteReasonReconcileError, true},
		"a taken name": {[]*problem.Problem{taken}, 0, v1beta1.WebsiteReasonNameTaken, true},
		"an error, and a taken name": {[]*problem.Problem{broken, taken}, problem.Persistent,
			v1beta1.WebsiteReasonNameTaken, true},
		"the namespace is deleted": {[]*problem.Problem{problem.Classify(terminating())}, problem.Persistent, "", true},
	} {
		got, known := reportable(test.problems, test.requeues)
		reason := ""
		if got != nil {
			reason = got.Reason
		}
		if reason != test.want || known != test.wantKnown {
			t.Errorf("%s: %q, %t, want %q, %t", name, reason, known, test.want, test.wantKnown)
		}
	}
}

func TestStatusWritesAreDue(t *testing.T) {
	const unchanged = -1
	due := func(w *remembered, reported, current *v1beta1.WebsiteStatus, now time.Time) time.Duration {
		changed, wait := w.statusDue(reported, current, now, statusDelay)
		if !changed {
			return unchanged
		}
		return wait
	}
	withCommit := func(commit string) *v1beta1.WebsiteStatus {
		status := readyStatus(true, 1)
		status.Commit = commit
		return status
	}
	withSync := func(started int64) *v1beta1.WebsiteStatus {
		status := readyStatus(true, 1)
		status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 1}, StartedID: started}
		return status
	}
	for name, test := range map[string]struct {
		reported, current *v1beta1.WebsiteStatus
		want              time.Duration
	}{
		"nothing changed":    {readyStatus(true, 1), readyStatus(true, 1), unchanged},
		"a count":            {readyStatus(true, 1), readyStatus(true, 2), statusDelay},
		"becomes ready":      {readyStatus(false, 0), readyStatus(true, 1), 0},
		"is ready no longer": {readyStatus(true, 1), readyStatus(false, 0), 0},
		"the first report":   {&v1beta1.WebsiteStatus{}, readyStatus(false, 0), statusDelay},
		"another commit":     {withCommit("a"), withCommit("b"), 0},
		"commits differ":     {withCommit("a"), withCommit(""), statusDelay},
		"a sync is started":  {withSync(0), withSync(1), 0},
		"a sync as it was":   {withSync(1), withSync(1), unchanged},
		"ready at once":      {&v1beta1.WebsiteStatus{}, readyStatus(true, 1), 0},
	} {
		w := &remembered{}
		if got := due(w, test.reported, test.current, testNow); got != test.want {
			t.Errorf("%s: due in %v, want %v", name, got, test.want)
		}
	}

	// The delay begins with the first change and does not restart with others.
	w := &remembered{}
	reported := readyStatus(true, 1)
	due(w, reported, readyStatus(true, 2), testNow)
	if got := due(w, reported, readyStatus(true, 3), testNow.Add(statusDelay/4)); got != statusDelay*3/4 {
		t.Errorf("after a quarter of the delay it is due in %v", got)
	}
	if got := due(w, reported, readyStatus(true, 4), testNow.Add(2*statusDelay)); got != 0 {
		t.Errorf("after the delay it is due in %v", got)
	}
	// The status changed back to the reported one: the next change waits again.
	due(w, reported, readyStatus(true, 1), testNow.Add(2*statusDelay))
	if got := due(w, reported, readyStatus(true, 2), testNow.Add(3*statusDelay)); got != statusDelay {
		t.Errorf("a later change is due in %v", got)
	}
}

// TestCreatingCostsOneStatusWrite plays the status of a starting Deployment, with another count every
// tenth of a second.
func TestCreatingCostsOneStatusWrite(t *testing.T) {
	clock := testingclock.NewFakeClock(testNow)
	f := newFixtureAt(t, clock, newWebsite(withReplicas(3)))
	f.controller.statusDelay = statusDelay
	for tick := range 40 {
		if _, found := live[*appsv1.Deployment](f, testDeployment); found {
			edit(f, testDeployment, func(d *appsv1.Deployment) {
				n := min(3, int32(tick/10))
				d.Status = appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: min(3, int32(tick)), ReadyReplicas: n,
					AvailableReplicas: n}
			})
		}
		f.syncCaches()
		if problems := f.reconcile(testKey); len(problems) > 0 {
			t.Fatal(problems)
		}
		f.refreshWebsites()
		clock.Step(25 * time.Millisecond)
	}
	writes := f.writes()
	want := []string{"create ConfigMap " + testConfigMap, "create Deployment kubia-website",
		"create Service kubia-website-npsvc",
		"create PodDisruptionBudget kubia-website", "status kubia 3"}
	if !slices.Equal(writes, want) {
		t.Errorf("writes until Ready: %q, want %q", writes, want)
	}
	clock.Step(2 * statusDelay)
	for range 3 {
		f.reconcile(testKey)
		f.refreshWebsites()
		clock.Step(2 * statusDelay)
	}
	if got := f.writes()[len(want):]; len(got) != 0 {
		t.Errorf("writes once it has settled: %q", got)
	}
	if got := f.events(); len(got) != 1 {
		t.Errorf("events: %q, want one", got)
	}
}

// TestCommitsAreWrittenAtARate: pods that report another commit each second cause few writes, do not
// delay those for other Websites, and their last commit is written.
func TestCommitsAreWrittenAtARate(t *testing.T) {
	clock := testingclock.NewFakeClock(testNow)
	f := newFixtureAt(t, clock, newWebsite(), newWebsite(withName("other")))
	alarm := &alarm{TypedRateLimitingInterface: f.controller.queue.TypedRateLimitingInterface, clock: clock}
	f.controller.queue.TypedRateLimitingInterface = alarm
	f.controller.statusDelay = statusDelay
	write := func(name, commit string) {
		t.Helper()
		run := f.reconciliation(&status.Input{Website: f.website(name)})
		changed := run.website.Status.DeepCopy()
		changed.Commit = commit
		changed.History = []v1beta1.WebsiteRelease{{Commit: commit, Cause: v1beta1.ReleaseCausePoll}}
		if p := f.controller.writeStatus(t.Context(), run, *changed, clock.Now()); p != nil {
			t.Fatal(p)
		}
	}
	const seconds = 58
	for i := range seconds {
		write(testName, []string{commitA, commitB}[i%2])
		clock.Step(time.Second)
	}
	if got, want := len(f.writes()), commitBurst+int(seconds*time.Second/commitInterval); got != want {
		t.Errorf("the status was written %d times in %d s, want %d", got, seconds, want)
	}

	f.forgetHistory()
	write("other", commitA)
	if len(f.writes()) != 1 {
		t.Error("one Website's commits delay another's")
	}

	alarm.at = time.Time{}
	last := strings.Repeat("c", 40)
	write(testName, last)
	if f.website(testName).Status.Commit == last {
		t.Fatal("the last commit is written at once, want it to wait")
	}
	if wait := alarm.at.Sub(clock.Now()); wait <= 0 || wait > commitInterval {
		t.Fatalf("the last commit is to be written in %v", wait)
	}
	clock.SetTime(alarm.at)
	write(testName, last)
	if got := f.website(testName).Status.Commit; got != last {
		t.Errorf("the commit is %q, want the last one", got)
	}
}

// TestHostsDeadlineIsReported: a Website is reconciled, also by a later controller, when the deadline
// for the routing of its hosts has passed.
func TestHostsDeadlineIsReported(t *testing.T) {
	clock := testingclock.NewFakeClock(testNow)
	website := newWebsite(func(w *v1beta1.Website) {
		w.Generation, w.Spec.Hosts = 1, []v1beta1.WebsiteHost{{Name: "shop.example.com"}}
	})
	var alarmed *alarm
	start := func() *fixture {
		f := newFixtureAt(t, clock, website)
		alarmed = &alarm{TypedRateLimitingInterface: f.controller.queue.TypedRateLimitingInterface, clock: clock}
		f.controller.queue.TypedRateLimitingInterface = alarmed
		return f
	}
	report := func(f *fixture) string {
		t.Helper()
		input := &status.Input{Website: f.website(testName), Now: clock.Now(), Deployment: &cached.Deployment{
			Status: cached.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1},
		}, Routing: &status.Routing{Obstacle: &status.Obstacle{Reason: v1beta1.WebsiteReasonGatewayNotFound, Message: "x"}}}
		if p := f.controller.report(t.Context(), f.reconciliation(input), nil); p != nil {
			t.Fatal(p)
		}
		for _, kind := range []string{v1beta1.WebsiteReconciling, v1beta1.WebsiteStalled} {
			if c := meta.FindStatusCondition(f.website(testName).Status.Conditions, kind); c != nil {
				return kind + "/" + c.Reason
			}
		}
		return ""
	}
	if f := start(); report(f) != "Reconciling/GatewayNotFound" {
		t.Errorf("in the beginning the conditions are %+v", f.website(testName).Status.Conditions)
	} else {
		website = f.website(testName)
	}
	deadline := alarmed.at
	if want := testNow.Add(resources.ProgressDeadlineSeconds * time.Second); !deadline.Equal(want) {
		t.Errorf("it is reconciled at %v, want %v", deadline, want)
	}
	clock.Step(time.Minute)
	f := start()
	if got := report(f); got != "Reconciling/GatewayNotFound" || !alarmed.at.Equal(deadline) {
		t.Errorf("after a restart: %s, and it is reconciled at %v, want %v", got, alarmed.at, deadline)
	}
	clock.SetTime(deadline)
	if got := report(f); got != "Stalled/GatewayNotFound" {
		t.Errorf("at the deadline: %s", got)
	}
}

// TestMemoryGoesWithTheWebsite: a deleted Website leaves no state, which another one of its name
// could get.
func TestMemoryGoesWithTheWebsite(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.reconcile(testKey)
	memory := f.controller.reconciler.memory
	if len(memory.websites) == 0 {
		t.Fatal("nothing is remembered of a Website")
	}
	memory.of(newWebsite()).portRefused = testNow
	if known := memory.of(newWebsite(func(w *v1beta1.Website) { w.UID = "another" })); !known.portRefused.IsZero() {
		t.Errorf("another Website got the state of a deleted one: %+v", known)
	}
	f.uncacheWebsite(newWebsite())
	f.reconcile(testKey)
	if len(memory.websites) != 0 {
		t.Error("a Website that is gone is still remembered")
	}
}
