package website

import (
	"fmt"
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
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// rollout is a Website whose Deployment comes up while a test sets the clock. The
// controller looks at it when something has changed and when it wants to.
type rollout struct {
	*fixture
	clock *testingclock.FakeClock
	alarm *alarm
	// pods is how the Deployment stands, by the time since the last change of the
	// spec.
	pods func(since time.Duration) appsv1.DeploymentStatus
	from time.Time
}

// alarm is a queue that tells when the controller wants to look again.
type alarm struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	clock *testingclock.FakeClock
	// at is zero while the controller waits for nothing.
	at time.Time
}

func (a *alarm) AddAfter(_ cache.ObjectName, after time.Duration) {
	if at := a.clock.Now().Add(after); a.at.IsZero() || at.Before(a.at) {
		a.at = at
	}
}

func newRollout(t *testing.T, replicas int32, pods func(time.Duration) appsv1.DeploymentStatus) *rollout {
	t.Helper()
	r := &rollout{clock: testingclock.NewFakeClock(testNow), pods: pods, from: testNow}
	r.fixture = newFixture(t, newWebsite(withReplicas(replicas), func(site *v1beta1.Website) { site.Generation = 1 }))
	r.alarm = &alarm{TypedRateLimitingInterface: r.controller.queue, clock: r.clock}
	r.controller.clock, r.controller.queue = r.clock, r.alarm
	r.controller.statuses.delay, r.controller.statuses.progressDelay = statusDelay, progressDelay
	r.alarm.at = testNow
	return r
}

// scale changes the spec.
func (r *rollout) scale(replicas int32, pods func(time.Duration) appsv1.DeploymentStatus) {
	r.Helper()
	site := r.website(testName)
	site.Spec.Replicas, site.Generation = &replicas, site.Generation+1
	if err := r.sites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), site, site.Namespace); err != nil {
		r.Fatal(err)
	}
	r.refreshWebsites()
	r.pods, r.from, r.alarm.at = pods, r.clock.Now(), r.clock.Now()
}

// run plays until the status is as wanted, or the time is over, and returns how
// long that took and how often the status was written.
func (r *rollout) run(limit time.Duration, until func(*v1beta1.WebsiteStatus) bool) (time.Duration, int) {
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
		if strings.HasPrefix(write, "status ") {
			writes++
		}
	}
	return r.clock.Since(begin), writes
}

// deploy does the work of the Deployment's controller, which the controller under
// test sees.
func (r *rollout) deploy() {
	r.Helper()
	status := r.pods(r.clock.Since(r.from))
	if d, found := live[*appsv1.Deployment](r.fixture, testDeployment); found && !apiequality.Semantic.DeepEqual(d.Status, status) {
		edit(r.fixture, testDeployment, func(d *appsv1.Deployment) { d.Status = status })
		r.syncCaches()
		r.alarm.at = r.clock.Now()
	}
}

// look makes one pass. What it wrote is seen, and looked at, at once.
func (r *rollout) look() {
	r.Helper()
	before := len(r.writes())
	if problems := r.reconcile(testKey); len(problems) > 0 {
		r.Fatal(problems)
	}
	if len(r.writes()) > before {
		r.syncCaches()
		r.refreshWebsites()
		r.alarm.at = r.clock.Now()
	}
}

func isReadyStatus(status *v1beta1.WebsiteStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady)
}

func never(*v1beta1.WebsiteStatus) bool { return false }

// upTo has pods of a new Deployment become ready one after the other until there
// are so many.
func upTo(wanted, most int32, first, apart time.Duration) func(time.Duration) appsv1.DeploymentStatus {
	return func(since time.Duration) appsv1.DeploymentStatus {
		ready := int32(0)
		if since >= first {
			ready = int32(min(int64(most), 1+int64((since-first)/apart)))
		}
		return appsv1.DeploymentStatus{Replicas: wanted, UpdatedReplicas: wanted, ReadyReplicas: ready, AvailableReplicas: ready}
	}
}

// TestSlowPodsCostNoStatusWrites: pods that become ready one after the other cost
// no more than pods that start at once.
func TestSlowPodsCostNoStatusWrites(t *testing.T) {
	for _, test := range []struct {
		replicas     int32
		first, apart time.Duration
	}{
		{1, 3 * time.Second, time.Second},
		{3, 3 * time.Second, 2 * time.Second},
		{10, 3 * time.Second, 2 * time.Second},
		{10, 3 * time.Second, 5 * time.Second},
		{10, 90 * time.Second, 5 * time.Second},
		{50, 3 * time.Second, time.Second},
	} {
		t.Run(fmt.Sprintf("%d replicas from %s, %s apart", test.replicas, test.first, test.apart), func(t *testing.T) {
			r := newRollout(t, test.replicas, upTo(test.replicas, test.replicas, test.first, test.apart))
			// One pod of several may be missing.
			want := test.first + time.Duration(max(1, test.replicas-1)-1)*test.apart
			took, writes := r.run(want+time.Minute, isReadyStatus)
			if took != want || writes != 2 {
				t.Errorf("Ready after %v with %d status writes, want %v with 2", took, writes, want)
			}
			// Then, once, what was left to say.
			wantLater := 1
			if test.replicas == 1 {
				wantLater = 0
			}
			if _, later := r.run(3*progressDelay, never); later != wantLater {
				t.Errorf("%d status writes after Ready, want %d", later, wantLater)
			}
			if got := r.website(testName).Status; got.AvailableReplicas != test.replicas {
				t.Errorf("%d replicas are available in the end, want %d", got.AvailableReplicas, test.replicas)
			}
		})
	}
}

// TestStuckRolloutIsSeen: what waits for more is said when there is no more.
func TestStuckRolloutIsSeen(t *testing.T) {
	const first, apart = 3 * time.Second, 2 * time.Second
	r := newRollout(t, 10, upTo(10, 3, first, apart))
	took, writes := r.run(10*time.Minute, func(status *v1beta1.WebsiteStatus) bool { return status.AvailableReplicas == 3 })
	if took != first+progressDelay || writes != 2 {
		t.Errorf("three of ten pods are reported after %v with %d writes, want %v with 2", took, writes, first+progressDelay)
	}
	if _, writes := r.run(10*progressDelay, never); writes != 0 {
		t.Errorf("%d status writes while nothing happens", writes)
	}
}

// TestLongRolloutIsSeen: one that takes very long is written about once a minute.
func TestLongRolloutIsSeen(t *testing.T) {
	const first, apart = 10 * time.Second, 20 * time.Second
	r := newRollout(t, 20, upTo(20, 20, first, apart))
	took, writes := r.run(10*time.Minute, isReadyStatus)
	spread := took - first
	if want := 2 + int(spread/progressDelay); writes > want || writes < 3 {
		t.Errorf("%d status writes in %v, want 3 to %d", writes, took, want)
	}
}

// TestCauseOfARolloutIsSeenAtOnce: what somebody should do something about does not
// wait as progress does.
func TestCauseOfARolloutIsSeenAtOnce(t *testing.T) {
	r := newRollout(t, 10, upTo(10, 3, 3*time.Second, 2*time.Second))
	r.run(20*time.Second, never)
	refused := upTo(10, 3, 0, time.Nanosecond)
	r.pods = func(since time.Duration) appsv1.DeploymentStatus {
		status := refused(since)
		status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue,
			Reason: "FailedCreate", Message: `pods "x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3`}}
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

// TestScalingUpIsSeen: that a site is no longer ready is written before there are
// any new pods; that there are, soon after. An autoscaler reads status.replicas.
func TestScalingUpIsSeen(t *testing.T) {
	r := newRollout(t, 3, upTo(3, 3, 0, time.Nanosecond))
	r.run(time.Minute, never)
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
	if took, writes := r.run(time.Minute, func(status *v1beta1.WebsiteStatus) bool { return !isReadyStatus(status) }); took != 0 || writes != 1 {
		t.Errorf("not ready after %v with %d writes, want at once", took, writes)
	}
	if took, writes := r.run(time.Minute, func(status *v1beta1.WebsiteStatus) bool { return status.Replicas == 10 }); took != reacts+statusDelay || writes != 1 {
		t.Errorf("the new pods are counted after %v with %d writes, want %v with 1", took, writes, reacts+statusDelay)
	}
	if _, writes := r.run(10*time.Minute, isReadyStatus); writes != 1 {
		t.Errorf("%d writes until the site was ready again, want 1", writes)
	}
}

// TestProgress: what is more than the progress of a rollout is not taken for it.
func TestProgress(t *testing.T) {
	// starts is a site of which one of three new pods is ready.
	starts := func(v *view) {
		v.site.Generation, v.site.Spec.Replicas = 1, ptr.To[int32](3)
		v.deployment.Status = appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 1, AvailableReplicas: 1}
		v.pods = append(v.pods[:1], starting(time.Second))
	}
	for name, test := range map[string]struct {
		before, after func(*view)
		want          bool
	}{
		"no pods are there yet": {before: func(v *view) { v.deployment.Status, v.pods = appsv1.DeploymentStatus{}, nil }, want: true},
		"none is ready yet": {before: func(v *view) {
			v.deployment.Status.AvailableReplicas, v.deployment.Status.ReadyReplicas = 0, 0
			v.pods = v.pods[1:]
		}, want: true},
		"one more is there, on another node": {after: func(v *view) {
			v.deployment.Status.Replicas = 4
			v.pods = append(v.pods, newObservedPod("b"))
			v.pods[2].Status.HostIP = "192.0.2.2"
		}, want: true},
		"one has not been asked": {before: func(v *view) { v.pods[0].observed = false }, want: true},
		"ready":                  {after: func(v *view) { v.deployment.Status.AvailableReplicas = 2 }},
		"available, the old ones are not gone yet": {after: func(v *view) {
			v.deployment.Status.Replicas, v.deployment.Status.AvailableReplicas = 4, 2
		}},
		"another spec":        {after: func(v *view) { v.site.Generation = 2 }},
		"an image is missing": {after: func(v *view) { waiting("ImagePullBackOff", "")(&v.pods[1]) }},
		"the image is there":  {before: func(v *view) { waiting("ImagePullBackOff", "")(&v.pods[1]) }},
		"overdue": {after: func(v *view) {
			v.deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
		}},
		"another commit":      {after: func(v *view) { v.pods[0].Commit = commitB }},
		"the remote is away":  {after: func(v *view) { v.pods[0].Failure = "RepositoryUnreachable" }},
		"a pod is cut off":    {after: func(v *view) { v.pods[0].Reachable = false }},
		"another node port":   {after: func(v *view) { v.service.Spec.Ports[0].NodePort = 30081 }},
		"a child is refused":  {after: func(v *view) { v.problem = &cause{"QuotaExceeded", "x"} }},
		"scaled down to none": {after: func(v *view) { v.site.Spec.Replicas = ptr.To[int32](0) }},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := newView(starts), newView(starts)
			if test.before != nil {
				test.before(before)
			}
			if test.after != nil {
				test.after(after)
			}
			reported := before.status()
			after.site.Status = reported
			current := after.status()
			if got := isProgress(&reported, &current); got != test.want {
				t.Errorf("progress = %t, want %t\n from %+v\n   to %+v", got, test.want, reported, current)
			}
		})
	}
}
