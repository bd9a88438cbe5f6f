package website

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/observer"
)

var (
	testNow = time.Unix(1_700_000_000, 0)
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 40)
)

// newView is a Website of two pods with which all is well, changed as a test
// needs it.
func newView(tweaks ...func(*view)) *view {
	v := &view{
		site: newWebsite(withReplicas(2)),
		deployment: &appsv1.Deployment{Status: appsv1.DeploymentStatus{
			Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
		}},
		service:   &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: testNamespace}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}}},
		pods:      []observedPod{newObservedPod("a"), newObservedPod("b")},
		observing: true,
		now:       testNow,
	}
	for _, tweak := range tweaks {
		tweak(v)
	}
	return v
}

func newObservedPod(name string) observedPod {
	return observedPod{
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: testNamespace, CreationTimestamp: metav1.NewTime(testNow.Add(-time.Hour))},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, HostIP: "192.0.2.1"},
		},
		Observation: observer.Observation{Reachable: true, Commit: commitA},
		observed:    true, ready: true,
	}
}

// broken makes the first pod one that does not serve.
func broken(tweak func(*observedPod)) func(*view) {
	return func(v *view) {
		v.deployment.Status.AvailableReplicas = 0
		v.pods = v.pods[:1]
		v.pods[0].ready, v.pods[0].Commit, v.pods[0].observed = false, "", false
		tweak(&v.pods[0])
	}
}

func waiting(reason, message string) func(*observedPod) {
	return func(p *observedPod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "nginx", Image: "example.com/nginx:1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

const overflow = `Usage of EmptyDir volume "git" exceeds the limit "2Gi". `

// evicted makes a pod one that the kubelet has ended, a container of which failed
// on that.
func evicted(ago time.Duration) func(*observedPod) {
	return func(p *observedPod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", overflow
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(testNow.Add(-ago))}}
	}
}

// evictedByEvent is the same when the containers ended as they should.
func evictedByEvent(ago time.Duration) func(*observedPod) {
	return func(p *observedPod) {
		evicted(ago)(p)
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodSucceeded, "", ""
		p.Observation, p.observed = observer.Observation{Eviction: overflow}, true
	}
}

// starting is a pod that is not ready yet.
func starting(ago time.Duration) observedPod {
	pod := newObservedPod("starting")
	pod.CreationTimestamp = metav1.NewTime(testNow.Add(-ago))
	pod.ready, pod.observed, pod.Observation = false, false, observer.Observation{}
	return pod
}

// fetchingUnknown makes it unknown whether a pod can fetch, of which this was
// reported.
func fetchingUnknown(status metav1.ConditionStatus, reason string) func(*view) {
	return func(v *view) {
		v.pods[1].FollowingUnknown = true
		v.site.Status.Conditions = []metav1.Condition{condition("Synced", status, reason, "x")}
	}
}

func replicaFailure(message string) func(*view) {
	return func(v *view) {
		v.deployment.Status = appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: message}}}
		v.pods = nil
	}
}

func TestConditions(t *testing.T) {
	const served = "True/Serving True/MinimumReplicasAvailable False/RolloutComplete "
	each := func(reason string) string {
		return "False/" + reason + " False/" + reason + " True/RolloutInProgress "
	}
	for name, test := range map[string]struct {
		tweak func(*view)
		// want has Ready, Available, Progressing and Synced.
		want       string
		wantCommit string
		// message is part of that of Ready.
		message string
	}{
		"all well": {func(*view) {}, served + "True/CommitPublished", commitA, ""},
		"nobody observes": {func(v *view) { v.observing = false; v.pods[0].observed, v.pods[1].observed = false, false },
			served + "Unknown/NotObserved", "", ""},
		"offline": {func(v *view) {
			v.site.Spec.Replicas = new(int32)
			v.deployment.Status = appsv1.DeploymentStatus{}
			v.pods = nil
		},
			"True/ScaledToZero True/ScaledToZero False/RolloutComplete Unknown/NoReadyPods", "", "offline"},
		"rolling to another shape, old pods serve": {func(v *view) { v.deployment.Status.UpdatedReplicas = 1 },
			"False/RolloutInProgress True/MinimumReplicasAvailable True/RolloutInProgress True/CommitPublished", commitA, ""},
		"status of the Deployment is about an older spec": {func(v *view) { v.deployment.Generation = 2; v.deployment.Status.ObservedGeneration = 1 },
			"False/RolloutInProgress True/MinimumReplicasAvailable True/RolloutInProgress True/CommitPublished", commitA, ""},
		"rollout stuck": {func(v *view) {
			v.deployment.Status.UpdatedReplicas = 1
			v.deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
		}, "False/ProgressDeadlineExceeded True/MinimumReplicasAvailable False/ProgressDeadlineExceeded True/CommitPublished", commitA, ""},
		"rollout paused": {func(v *view) { v.deployment.Spec.Paused = true; v.deployment.Status.UpdatedReplicas = 0 },
			"False/DeploymentPaused True/MinimumReplicasAvailable False/DeploymentPaused True/CommitPublished", commitA, "kubectl rollout resume deployment/"},
		"paused, nothing to roll out": {func(v *view) { v.deployment.Spec.Paused = true }, served + "True/CommitPublished", commitA, ""},
		"one of two pods away": {func(v *view) { v.deployment.Status.AvailableReplicas = 1; v.pods[0].ready = false },
			"True/Serving True/MinimumReplicasAvailable True/RolloutInProgress True/CommitPublished", commitA, ""},
		"no pod yet": {func(v *view) { v.deployment.Status = appsv1.DeploymentStatus{}; v.pods = nil },
			"False/RolloutInProgress False/MinimumReplicasUnavailable True/RolloutInProgress Unknown/NoReadyPods", "", ""},

		"image":             {broken(waiting("ImagePullBackOff", "Back-off")), each("ImageUnavailable") + "Unknown/NoReadyPods", "", `image "example.com/nginx:1"`},
		"image, first time": {broken(waiting("ErrImagePull", "")), each("ImageUnavailable") + "Unknown/NoReadyPods", "", "cannot be pulled"},
		"missing key":       {broken(waiting("CreateContainerConfigError", `secret "x" not found`)), each("ContainerConfigError") + "Unknown/NoReadyPods", "", `secret "x" not found`},
		"crashing":          {broken(waiting("CrashLoopBackOff", "")), each("ContainerFailing") + "Unknown/NoReadyPods", "", "nginx"},
		"unschedulable": {broken(func(p *observedPod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}
		}), each("Unschedulable") + "Unknown/NoReadyPods", "", "0/3 nodes"},
		"volumes": {broken(func(p *observedPod) {
			p.Status.Phase = corev1.PodPending
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}}
		}), each("PodNotStarting") + "Unknown/NoReadyPods", "", "volumes"},
		"evicted":                       {broken(evicted(time.Minute)), each("RepositoryTooLarge") + "Unknown/NoReadyPods", "", "2Gi"},
		"evicted, as the event says it": {broken(evictedByEvent(time.Minute)), each("RepositoryTooLarge") + "Unknown/NoReadyPods", "", "2Gi"},
		"evicted, and its successor starts": {func(v *view) {
			broken(evictedByEvent(time.Minute))(v)
			v.pods = append(v.pods, starting(59*time.Second))
		}, each("RepositoryTooLarge") + "Unknown/NoReadyPods", "", "2Gi"},
		"evicted long ago, and another pod starts": {func(v *view) {
			broken(evictedByEvent(time.Hour))(v)
			v.pods = append(v.pods, starting(time.Minute))
		}, "False/MinimumReplicasUnavailable False/MinimumReplicasUnavailable True/RolloutInProgress Unknown/NoReadyPods", "", ""},
		"quota": {replicaFailure(`pods "kubia-website-1234-abcd" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2`),
			each("QuotaExceeded") + "Unknown/NoReadyPods", "", `quota "few" leaves no room for the pods, limited: pods=2`},
		"pod security": {replicaFailure(`pods "kubia-website-1234-abcd" is forbidden: violates PodSecurity "restricted:latest": x`),
			each("AdmissionDenied") + "Unknown/NoReadyPods", "", "pods are refused: violates PodSecurity"},
		"never fetched": {broken(func(p *observedPod) { p.observed, p.Reachable, p.Failure = true, true, observer.FailureAuthentication }),
			each("AuthenticationFailed") + "False/AuthenticationFailed", "", "spec.source.secretRef"},
		"wrong ref": {broken(func(p *observedPod) { p.observed, p.Reachable, p.Failure = true, true, observer.FailureRefNotFound }),
			each("RefNotFound") + "False/RefNotFound", "", "spec.source.ref"},
		"wrong path": {broken(func(p *observedPod) { p.observed, p.Reachable, p.PathNotFound = true, true, true }),
			each("PathNotFound") + "False/PathNotFound", "", "spec.source.path"},

		"remote away":                 {func(v *view) { v.pods[1].Failure = observer.FailureUnreachable }, served + "False/RepositoryUnreachable", commitA, ""},
		"no such repository any more": {func(v *view) { v.pods[1].Failure = observer.FailureNotFound }, served + "False/RepositoryNotFound", commitA, ""},
		"fails, nobody knows why":     {func(v *view) { v.pods[1].Failure = observer.FailureUnknown }, served + "False/SyncFailing", commitA, ""},
		"remote away, but the commit is fixed": {func(v *view) {
			v.pods[1].Failure = observer.FailureUnreachable
			v.site.Spec.Source.Ref = &v1beta1.GitReference{Commit: commitA}
		}, served + "True/CommitPublished", commitA, ""},
		"path removed by a push": {func(v *view) { v.pods[0].PathNotFound, v.pods[1].PathNotFound = true, true },
			"False/PathNotFound True/MinimumReplicasAvailable False/RolloutComplete False/PathNotFound", commitA, "spec.source.path"},
		"pods differ": {func(v *view) { v.pods[1].Commit = commitB; v.site.Status.Commit = commitA }, served + "False/CommitsDiffer", "", ""},
		"not asked yet keeps what was reported": {func(v *view) {
			v.pods[1].observed = false
			v.site.Status.Commit = commitB
			v.site.Status.Conditions = []metav1.Condition{condition("Synced", metav1.ConditionFalse, "RepositoryUnreachable", "x")}
		}, served + "False/RepositoryUnreachable", commitB, ""},
		"not asked yet, nothing was reported": {func(v *view) { v.pods[1].observed = false }, served + "Unknown/Observing", "", ""},
		"unreachable keeps the commit":        {func(v *view) { v.pods[1].Reachable = false; v.site.Status.Commit = commitB }, served + "Unknown/PodsUnreachable", commitB, ""},
		"git-sync does not answer":            {func(v *view) { v.pods[1].SyncUnreachable = true }, served + "Unknown/PodsUnreachable", commitA, ""},
		"git-sync does not answer and need not": {func(v *view) {
			v.pods[1].SyncUnreachable = true
			v.site.Spec.Source.Ref = &v1beta1.GitReference{Commit: commitA}
		}, served + "True/CommitPublished", commitA, ""},
		"an evicted pod is left over": {func(v *view) {
			v.pods = append(v.pods, newObservedPod("0"))
			v.pods[2].ready, v.pods[2].Failure = false, observer.FailureUnknown
			evicted(time.Minute)(&v.pods[2])
		}, served + "True/CommitPublished", commitA, ""},
		"an evicted pod is left over, another fails": {func(v *view) {
			broken(waiting("ImagePullBackOff", ""))(v)
			v.pods = append([]observedPod{newObservedPod("0")}, v.pods...)
			v.pods[0].ready = false
			evicted(time.Minute)(&v.pods[0])
		}, each("ImageUnavailable") + "Unknown/NoReadyPods", "", "cannot be pulled"},
		"after a restart it is not known whether it still fails": {fetchingUnknown("False", "RepositoryUnreachable"), served + "False/RepositoryUnreachable", commitA, ""},
		"nor whether git-sync answers":                           {fetchingUnknown("Unknown", "PodsUnreachable"), served + "Unknown/PodsUnreachable", commitA, ""},
		"nor whether it still works":                             {fetchingUnknown("True", "CommitPublished"), served + "True/CommitPublished", commitA, ""},
		"nor was it before":                                      {fetchingUnknown("Unknown", "Observing"), served + "Unknown/Observing", commitA, ""},
		"pods that differed agree, the rest is not known":        {fetchingUnknown("False", "CommitsDiffer"), served + "Unknown/Observing", commitA, ""},
		"it never was known":                                     {func(v *view) { v.pods[1].FollowingUnknown = true }, served + "Unknown/Observing", commitA, ""},
		"it is not known and need not be": {func(v *view) {
			fetchingUnknown("Unknown", "PodsUnreachable")(v)
			v.site.Spec.Source.Ref = &v1beta1.GitReference{Commit: commitA}
		}, served + "True/CommitPublished", commitA, ""},

		"suspended":          {func(v *view) { v.site.Spec.Suspend, v.kept = true, commitA }, served + "Unknown/Suspended", commitA, ""},
		"suspending":         {func(v *view) { v.site.Spec.Suspend = true; v.pods[1].Commit = commitB }, served + "False/CommitsDiffer", "", ""},
		"suspended, no pods": {func(v *view) { v.site.Spec.Suspend, v.kept = true, commitA; v.pods = nil }, served + "Unknown/Suspended", commitA, ""},

		"name taken": {func(v *view) {
			v.deployment, v.service, v.pods = nil, nil, nil
			v.problem = causeOf(&nameTakenError{kind: "Deployment", name: "d", owner: &metav1.OwnerReference{Kind: "Website", Name: "first"}})
		}, "False/NameTaken False/NameTaken False/NameTaken Unknown/NoReadyPods", "", `belongs to Website "first"`},
		"service refused, pods serve": {func(v *view) { v.problem = &cause{"QuotaExceeded", "x"} },
			"False/QuotaExceeded True/MinimumReplicasAvailable False/QuotaExceeded True/CommitPublished", commitA, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			v := newView(test.tweak)
			status := v.status()
			var got []string
			for _, kind := range []string{"Ready", "Available", "Progressing", "Synced"} {
				c := meta.FindStatusCondition(status.Conditions, kind)
				if c == nil {
					t.Fatalf("no condition %s", kind)
				}
				if c.Message == "" || c.ObservedGeneration != v.site.Generation {
					t.Errorf("condition %+v", c)
				}
				got = append(got, string(c.Status)+"/"+c.Reason)
			}
			if joined := strings.Join(got, " "); joined != test.want {
				t.Errorf("conditions:\n got %s\nwant %s", joined, test.want)
			}
			if status.Commit != test.wantCommit {
				t.Errorf("commit = %q, want %q", status.Commit, test.wantCommit)
			}
			if ready := meta.FindStatusCondition(status.Conditions, "Ready"); !strings.Contains(ready.Message, test.message) {
				t.Errorf("message = %q, want %q in it", ready.Message, test.message)
			}

			// What was just said is not said anew, however much later it is.
			v.site.Status, v.now = status, v.now.Add(time.Hour)
			if again := v.status(); !equalStatus(again, status) {
				t.Errorf("an hour later:\n got %+v\nwant %+v", again, status)
			}
		})
	}
}

// TestSyncedIsAboutThePodsOfTheSpec: the pods of the spec before agree on a
// commit, which says nothing about the new one.
func TestSyncedIsAboutThePodsOfTheSpec(t *testing.T) {
	v := newView(func(v *view) { v.site.Generation = 1 })
	generation := func() int64 {
		v.site.Status = v.status()
		synced := meta.FindStatusCondition(v.site.Status.Conditions, v1beta1.WebsiteSynced)
		if synced.Status != metav1.ConditionTrue {
			t.Fatalf("Synced is %+v", synced)
		}
		return synced.ObservedGeneration
	}
	for _, step := range []struct {
		when  string
		tweak func()
		want  int64
	}{
		{"all well", func() {}, 1},
		{"rolling out", func() { v.site.Generation, v.deployment.Status.UpdatedReplicas = 2, 0 }, 1},
		{"new pods, not asked yet", func() { v.deployment.Status.UpdatedReplicas, v.pods[0].observed = 2, false }, 1},
		{"new pods have answered", func() { v.pods[0].observed = true }, 2},
	} {
		step.tweak()
		if got := generation(); got != step.want {
			t.Errorf("%s: Synced is about generation %d, want %d", step.when, got, step.want)
		}
	}
}

// TestWordsThatChangeAreNotNews: an error that comes with other words each time
// would be written each time, and each write starts another pass.
func TestWordsThatChangeAreNotNews(t *testing.T) {
	for reason, wantNews := range map[string]bool{
		v1beta1.WebsiteReasonReconcileError: false,
		v1beta1.WebsiteReasonQuotaExceeded:  false,
		v1beta1.WebsiteReasonNameTaken:      true,
	} {
		v := newView(func(v *view) { v.problem = &cause{reason, "first words"} })
		v.site.Status = v.status()
		v.problem = &cause{reason, "other words"}
		if news := !equalStatus(v.status(), v.site.Status); news != wantNews {
			t.Errorf("%s: other words are news: %t, want %t", reason, news, wantNews)
		}
	}
}

func TestLastTransitionTime(t *testing.T) {
	v := newView()
	v.site.Status = v.status()
	v.now = testNow.Add(time.Hour)
	v.problem = causeOf(&invalidSpecError{errors.New("bad")})
	for _, c := range v.status().Conditions {
		changed := c.Type == "Ready"
		if moved := !c.LastTransitionTime.Time.Equal(testNow); moved != changed {
			t.Errorf("%s: last transition at %v", c.Type, c.LastTransitionTime)
		}
	}
}

func TestFailureMessagesRepeatNothing(t *testing.T) {
	for _, failure := range []observer.Failure{observer.FailureUnknown, observer.FailureUnreachable, observer.FailureNotFound,
		observer.FailureAuthentication, observer.FailureRefNotFound, observer.FailureStorage} {
		got := causeOfFailure(newWebsite(), failure)
		if got == nil || strings.Contains(got.message, "github.com") {
			t.Errorf("%s: %+v", failure, got)
		}
	}
}
