package podprobe

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// TestEndedPods: an evicted pod stays in the API for a long time, and what it said
// last must not; why it ended is looked for a few times, and while it is news.
func TestEndedPods(t *testing.T) {
	const overflow = `Usage of EmptyDir volume "git" exceeds the limit "2Gi". `
	for name, test := range map[string]struct {
		eviction string
		// after is how many reads show nothing yet, or fail with err.
		after int
		err   error
		pod   func(*corev1.Pod)
		// ago is when the pod ended.
		ago  time.Duration
		want workload.Observation
		// wantKnown is false when there is nothing to say.
		wantKnown   bool
		wantReads   int
		wantChanges int
	}{
		"evicted":               {eviction: overflow, want: workload.Observation{Eviction: overflow}, wantKnown: true, wantReads: 1, wantChanges: 1},
		"the event comes later": {eviction: overflow, after: 2, want: workload.Observation{Eviction: overflow}, wantKnown: true, wantReads: 3, wantChanges: 1},
		"events cannot be read": {after: 10, err: errors.New("forbidden"), wantReads: evictionTries},
		"ended without a word":  {wantReads: evictionTries},
		"ended long ago":        {eviction: overflow, ago: recentEnd},
		"the status says it":    {eviction: overflow, pod: func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }},
		"deleted":               {eviction: overflow, pod: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, want: workload.Observation{Reachable: true, Commit: commitA, FollowingUnknown: true}, wantKnown: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(&fakePods{commit: commitA, eviction: test.eviction, evictedAfter: test.after})
			f.poll(t)
			f.pods.err = test.err
			f.changed(t)
			ended := newPod("a")
			ended.Status.Phase = corev1.PodSucceeded
			ended.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(f.clock.Now().Add(-time.Hour))},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(f.clock.Now().Add(-test.ago))},
			}
			if test.pod != nil {
				test.pod(ended)
			}
			f.Forget("uid-of-b")
			_, ctx := ktesting.NewTestContext(t)
			for range evictionTries + 2 {
				f.Probe(testWebsite, ended)
				f.next(ctx)
			}
			if got, known := f.Observation(ended.UID); got != test.want || known != test.wantKnown {
				t.Errorf("known (%t): %+v, want (%t) %+v", known, got, test.wantKnown, test.want)
			}
			if f.pods.evictionReads != test.wantReads {
				t.Errorf("events were read %d times, want %d", f.pods.evictionReads, test.wantReads)
			}
			if got := f.changed(t); got != test.wantChanges {
				t.Errorf("%d changes were reported, want %d", got, test.wantChanges)
			}
		})
	}
}

// TestEndIsLookedForAgain: nothing announces an event that comes after its pod has
// ended.
func TestEndIsLookedForAgain(t *testing.T) {
	f := newFixture(&fakePods{})
	ended := newPod("a")
	ended.Status.Phase = corev1.PodSucceeded
	ended.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: metav1.NewTime(f.clock.Now())}}
	_, ctx := ktesting.NewTestContext(t)
	if again := f.explainEnd(ctx, ended); again != unsettledPeriod {
		t.Errorf("looked for again after %v, want %v", again, unsettledPeriod)
	}
	f.pods.eviction = "too much"
	if again := f.explainEnd(ctx, ended); again != 0 {
		t.Errorf("looked for again after %v though it was found", again)
	}
}

// TestGoneWhileProbed: what is remembered of a pod that is deleted meanwhile would
// stay for ever, since nothing names it any more.
func TestGoneWhileProbed(t *testing.T) {
	for name, phase := range map[string]corev1.PodPhase{"running": corev1.PodRunning, "ended": corev1.PodSucceeded} {
		f := newFixture(&fakePods{})
		pod := newPod("a")
		pod.Status.Phase = phase
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, LastTransitionTime: metav1.NewTime(f.clock.Now())}}
		f.Probe(testWebsite, pod)
		f.Forget("uid-of-b")
		f.pods.requested = func() { f.Forget(pod.UID) }
		_, ctx := ktesting.NewTestContext(t)
		for f.queue.Len() > 0 {
			f.next(ctx)
		}
		f.clock.Step(time.Hour)
		if len(f.Prober.pods) != 0 || f.queue.Len() != 0 {
			t.Errorf("%s: %d pods are remembered, %d are to be probed", name, len(f.Prober.pods), f.queue.Len())
		}
	}
}
