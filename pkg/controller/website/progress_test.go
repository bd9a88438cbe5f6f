package website

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// watchedRollout is a Website whose Deployment rolls out while a test sets the clock. It is
// reconciled after a change and when the controller requests it.
type watchedRollout struct {
	*fixture
	clock *testingclock.FakeClock
	alarm *alarm
	// pods returns the status of the Deployment, by the time since the last change of the spec.
	pods func(since time.Duration) appsv1.DeploymentStatus
	from time.Time
	// written are the writes of the status.
	written []statusWrite
}

type statusWrite struct {
	at time.Time
	// becomesReady is true when the write changes Ready.
	becomesReady bool
}

// alarm is a queue that records the next requested reconciliation.
type alarm struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	clock *testingclock.FakeClock
	// at is zero without a requested reconciliation.
	at time.Time
}

func (a *alarm) AddAfter(_ cache.ObjectName, after time.Duration) {
	if at := a.clock.Now().Add(after); a.at.IsZero() || at.Before(a.at) {
		a.at = at
	}
}

func newRollout(t *testing.T, replicas int32, pods func(time.Duration) appsv1.DeploymentStatus) *watchedRollout {
	t.Helper()
	r := &watchedRollout{clock: testingclock.NewFakeClock(testNow), pods: pods, from: testNow}
	r.fixture = newFixtureAt(t, r.clock,
		newWebsite(withReplicas(replicas), func(website *v1beta1.Website) { website.Generation = 1 }))
	r.alarm = &alarm{TypedRateLimitingInterface: r.controller.queue.TypedRateLimitingInterface, clock: r.clock}
	r.controller.queue.TypedRateLimitingInterface = r.alarm
	r.controller.statusDelay = statusDelay
	r.alarm.at = testNow
	return r
}

// scale changes the spec.
func (r *watchedRollout) scale(replicas int32, pods func(time.Duration) appsv1.DeploymentStatus) {
	r.Helper()
	website := r.website(testName)
	website.Spec.Replicas, website.Generation = &replicas, website.Generation+1
	if err := r.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website,
		website.Namespace); err != nil {
		r.Fatal(err)
	}
	r.refreshWebsites()
	r.pods, r.from, r.alarm.at = pods, r.clock.Now(), r.clock.Now()
}

// run plays until the status is as expected, or a time limit, and returns the elapsed time and the
// number of status writes.
func (r *watchedRollout) run(limit time.Duration, until func(*v1beta1.WebsiteStatus) bool) (time.Duration, int) {
	r.Helper()
	const tick = 100 * time.Millisecond
	r.forgetHistory()
	begin := r.clock.Now()
	for r.clock.Since(begin) < limit {
		r.deploy()
		if !r.alarm.at.IsZero() && !r.clock.Now().Before(r.alarm.at) {
			r.alarm.at = time.Time{}
			r.look()
		}
		if until(&r.website(testName).Status) {
			break
		}
		r.clock.Step(tick)
	}
	writes := 0
	for _, write := range r.writes() {
		if isStatusWrite(write) {
			writes++
		}
	}
	return r.clock.Since(begin), writes
}

// deploy updates the status of the Deployment like the Deployment controller.
func (r *watchedRollout) deploy() {
	r.Helper()
	status := r.pods(r.clock.Since(r.from))
	if d, found := live[*appsv1.Deployment](r.fixture, testDeployment); found &&
		!apiequality.Semantic.DeepEqual(d.Status, status) {
		edit(r.fixture, testDeployment, func(d *appsv1.Deployment) { d.Status = status })
		r.syncCaches()
		r.alarm.at = r.clock.Now()
	}
}

// look reconciles once. Its writes are in the cache, and cause another reconciliation, immediately.
func (r *watchedRollout) look() {
	r.Helper()
	before, wasReady := len(r.writes()), isReadyStatus(&r.website(testName).Status)
	if problems := r.reconcile(testKey); len(problems) > 0 {
		r.Fatal(problems)
	}
	if len(r.writes()) > before {
		r.syncCaches()
		r.refreshWebsites()
		r.alarm.at = r.clock.Now()
	}
	if slices.ContainsFunc(r.writes()[before:], isStatusWrite) {
		becomesReady := isReadyStatus(&r.website(testName).Status) != wasReady
		r.written = append(r.written, statusWrite{r.clock.Now(), becomesReady})
	}
}

func isStatusWrite(write string) bool { return strings.HasPrefix(write, "status ") }

func isReadyStatus(status *v1beta1.WebsiteStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady)
}

func never(*v1beta1.WebsiteStatus) bool { return false }

// upTo makes pods of a new Deployment ready one after the other, up to a number.
func upTo(wanted, most int32, first, apart time.Duration) func(time.Duration) appsv1.DeploymentStatus {
	return func(since time.Duration) appsv1.DeploymentStatus {
		ready := int32(0)
		if since >= first {
			ready = int32(min(int64(most), 1+int64((since-first)/apart)))
		}
		return appsv1.DeploymentStatus{Replicas: wanted, UpdatedReplicas: wanted, ReadyReplicas: ready,
			AvailableReplicas: ready}
	}
}

// TestProgressIsVisible: each pod that becomes ready is reported within two seconds,
// with at most one write per second, and readiness at once.
func TestProgressIsVisible(t *testing.T) {
	for _, test := range []struct {
		replicas     int32
		first, apart time.Duration
	}{
		{1, 3 * time.Second, time.Second},
		{3, 3 * time.Second, 2 * time.Second},
		{10, 3 * time.Second, 5 * time.Second},
		{10, 90 * time.Second, 5 * time.Second},
		{50, 3 * time.Second, 100 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%d replicas from %s, %s apart", test.replicas, test.first, test.apart), func(t *testing.T) {
			r := newRollout(t, test.replicas, upTo(test.replicas, test.replicas, test.first, test.apart))
			ready := test.first + time.Duration(test.replicas-1)*test.apart
			for pods := int32(1); pods < test.replicas; pods++ {
				there := test.first + time.Duration(pods-1)*test.apart
				r.run(time.Hour, func(status *v1beta1.WebsiteStatus) bool { return status.AvailableReplicas >= pods })
				if took := r.clock.Since(testNow); took > there+2*time.Second {
					t.Errorf("pod %d is reported after %v, though it was ready after %v", pods, took, there)
				}
			}
			r.run(time.Hour, isReadyStatus)
			if took := r.clock.Since(testNow); took != ready {
				t.Errorf("Ready after %v, want %v", took, ready)
			}
			r.run(time.Minute, never)
			if got := r.website(testName).Status; got.AvailableReplicas != test.replicas {
				t.Errorf("%d replicas are available in the end, want %d", got.AvailableReplicas, test.replicas)
			}
			for i, write := range r.written[1:] {
				if before := r.written[i]; !write.becomesReady && write.at.Sub(before.at) < time.Second {
					t.Errorf("the status is written %v and %v after the start", before.at.Sub(testNow), write.at.Sub(testNow))
				}
			}
			if _, writes := r.run(10*time.Minute, never); writes != 0 {
				t.Errorf("%d status writes while nothing happens", writes)
			}
		})
	}
}

// TestStuckRolloutIsSeen: a rollout without progress reports its number of ready pods.
func TestStuckRolloutIsSeen(t *testing.T) {
	const first, apart = 3 * time.Second, 2 * time.Second
	r := newRollout(t, 10, upTo(10, 3, first, apart))
	took, _ := r.run(10*time.Minute, func(status *v1beta1.WebsiteStatus) bool { return status.AvailableReplicas == 3 })
	if want := first + 2*apart + statusDelay; took != want {
		t.Errorf("three of ten pods are reported after %v, want %v", took, want)
	}
	if _, writes := r.run(10*time.Minute, never); writes != 0 {
		t.Errorf("%d status writes while nothing happens", writes)
	}
}

// TestCauseOfARolloutIsSeen: the reason why a rollout makes no progress is reported within two
// seconds as well.
func TestCauseOfARolloutIsSeen(t *testing.T) {
	r := newRollout(t, 10, upTo(10, 3, 3*time.Second, 2*time.Second))
	r.run(20*time.Second, never)
	refused := upTo(10, 3, 0, time.Nanosecond)
	r.pods = func(since time.Duration) appsv1.DeploymentStatus {
		status := refused(since)
		status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue,
			Reason: "FailedCreate", Message: `pods "x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3, ` +
				`limited: pods=3`}}
		return status
	}
	took, writes := r.run(10*time.Minute, func(status *v1beta1.WebsiteStatus) bool {
		return meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteReady).Reason == v1beta1.WebsiteReasonQuotaExceeded
	})
	if took != statusDelay || writes != 1 {
		t.Errorf("a quota is reported after %v with %d writes, want %v with 1", took, writes, statusDelay)
	}
	if got := r.website(testName).Status.AvailableReplicas; got != 3 {
		t.Errorf("%d replicas are available, want 3", got)
	}
}

// TestScalingUpIsSeen: while pods are added, a Website stays Ready and is Reconciling; the pods are
// counted soon after their creation, since an autoscaler reads status.replicas. No status write is
// urgent.
func TestScalingUpIsSeen(t *testing.T) {
	r := newRollout(t, 3, upTo(3, 3, 0, time.Nanosecond))
	r.run(time.Minute, never)
	r.written = nil
	const reacts = 300 * time.Millisecond
	after := upTo(10, 7, 5*time.Second, 5*time.Second)
	r.scale(10, func(since time.Duration) appsv1.DeploymentStatus {
		if since < reacts {
			return appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}
		}
		status := after(since)
		status.ReadyReplicas, status.AvailableReplicas = status.ReadyReplicas+3, status.AvailableReplicas+3
		return status
	})
	if took, writes := r.run(time.Minute,
		func(status *v1beta1.WebsiteStatus) bool { return status.Replicas == 10 }); took != statusDelay || writes != 1 {
		t.Errorf("the new pods are counted after %v with %d writes, want %v with 1", took, writes, statusDelay)
	}
	if got := r.website(testName).Status; !meta.IsStatusConditionTrue(got.Conditions, v1beta1.WebsiteReconciling) {
		t.Errorf("while pods are added the status is %+v", got)
	}
	done := func(status *v1beta1.WebsiteStatus) bool {
		return meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteReconciling) == nil
	}
	if _, writes := r.run(10*time.Minute, done); writes > 7 {
		t.Errorf("%d status writes for 7 pods, want one for each at most", writes)
	}
	if got := r.website(testName).Status.AvailableReplicas; got != 10 {
		t.Errorf("Reconciling is over with %d available replicas", got)
	}
	for _, write := range r.written {
		if write.becomesReady {
			t.Errorf("Ready changed %v after the start", write.at.Sub(testNow))
		}
	}
}
