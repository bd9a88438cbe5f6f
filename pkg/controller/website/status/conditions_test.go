package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

var (
	testNow = time.Unix(1_700_000_000, 0)
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 40)
)

const testNamespace = "default"

// newWebsite returns a valid Website, changed by tweaks.
func newWebsite(tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
	website := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: testNamespace, UID: "uid-of-kubia"},
		Spec: v1beta1.WebsiteSpec{
			Source: v1beta1.WebsiteSource{
				Git: &v1beta1.GitSource{Repository: "https://github.com/nevermosby/kubia-website-example.git",
					Submodules: v1beta1.SubmodulesNone},
			},
			Polling:        v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic},
			DeploymentName: "kubia-website",
			Replicas:       ptr.To[int32](1),
		},
	}
	for _, tweak := range tweaks {
		tweak(website)
	}
	return website
}

func withReplicas(replicas int32) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Spec.Replicas = &replicas }
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func equalStatus(a, b v1beta1.WebsiteStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }

// newInput returns the state of a healthy Website with two pods, changed by tweaks.
func newInput(tweaks ...func(*Input)) *Input {
	in := &Input{
		Website: newWebsite(withReplicas(2)),
		Deployment: &cached.Deployment{Status: cached.DeploymentStatus{
			Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2,
		}},
		Service: cached.OfService(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: testNamespace},
			Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "website-nginx"},
				Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http"), NodePort: 30080}},
			},
		}),
		Pods: []Pod{newPod("a"), newPod("b")}, Template: "current",
		Probing: true,
		Now:     testNow,
	}
	// The conditions are as the API server stores them on creation, here of an older generation.
	in.Website.Generation, in.Website.Status.ObservedGeneration = 2, 1
	pending := condition(v1beta1.WebsiteReady, metav1.ConditionUnknown, v1beta1.WebsiteReasonPending, "x")
	pending.ObservedGeneration = 1
	in.Website.Status.Conditions = []metav1.Condition{pending}
	for _, tweak := range tweaks {
		tweak(in)
	}
	// The conditions that a test sets are about the current generation.
	for i := range in.Website.Status.Conditions {
		if c := &in.Website.Status.Conditions[i]; c.ObservedGeneration == 0 {
			c.ObservedGeneration = in.Website.Generation
		}
	}
	return in
}

func newPod(name string) Pod {
	return Pod{
		Pod: &cached.Pod{
			Identity:          cached.Identity{Namespace: testNamespace, Name: name},
			CreationTimestamp: metav1.NewTime(testNow.Add(-time.Hour)),
			Labels:            "app=website-nginx", Template: "current", Ports: "http",
			Phase: corev1.PodRunning, HostIP: "192.0.2.1",
		},
		Observation: workload.Observation{Reachable: true, Commit: commitA},
		Observed:    true, Ready: true,
	}
}

// broken makes the first pod one that does not serve.
func broken(tweak func(*Pod)) func(*Input) {
	return func(in *Input) {
		in.Deployment.Status.AvailableReplicas = 0
		in.Pods = in.Pods[:1]
		in.Pods[0].Ready, in.Pods[0].Commit, in.Pods[0].Observed = false, "", false
		tweak(&in.Pods[0])
	}
}

func waiting(reason, message string) func(*Pod) {
	return func(p *Pod) {
		p.Containers = []corev1.ContainerStatus{{Name: "nginx", Image: "example.com/nginx:1",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

const overflow = `Usage of EmptyDir volume "git" exceeds the limit "2Gi". `

// evicted makes a pod one that the kubelet has evicted, with a failed container.
func evicted(ago time.Duration) func(*Pod) {
	return func(p *Pod) {
		p.Phase, p.Message = corev1.PodFailed, overflow
		p.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse,
			LastTransitionTime: metav1.NewTime(testNow.Add(-ago))}}
	}
}

// evictedCleanly makes a pod an evicted one whose containers exited with 0: then only the agent
// reports the reason.
func evictedCleanly(ago time.Duration) func(*Pod) {
	return func(p *Pod) {
		evicted(ago)(p)
		p.Phase, p.Message = corev1.PodSucceeded, ""
		p.Containers = []corev1.ContainerStatus{{Name: resources.GitSyncContainer,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "StorageFull"}}}}
	}
}

// starting returns a pod that is not ready yet.
func starting(ago time.Duration) Pod {
	pod := newPod("starting")
	pod.CreationTimestamp = metav1.NewTime(testNow.Add(-ago))
	pod.Ready, pod.Observed, pod.Observation = false, false, workload.Observation{}
	return pod
}

// suspendedOn suspends a Website, on a commit unless that is empty.
func suspendedOn(commit string) func(*Input) {
	return func(in *Input) {
		in.Website.Spec.Suspend = new(true)
		if commit != "" {
			in.Website.Spec.Pin = &v1beta1.WebsitePin{Commit: commit, Cause: v1beta1.PinCauseSuspend}
		}
	}
}

// fetchesUnknown makes the fetch state of a pod unknown, after a condition was reported.
func fetchesUnknown(status metav1.ConditionStatus, reason string) func(*Input) {
	return func(in *Input) {
		in.Pods[1].FollowingUnknown = true
		in.Website.Status.Conditions = []metav1.Condition{condition("Synced", status, reason, "x")}
	}
}

func replicaFailure(message string) func(*Input) {
	return func(in *Input) {
		in.Deployment.Status = cached.DeploymentStatus{ReplicaFailure: message}
		in.Pods = nil
	}
}

func TestConditions(t *testing.T) {
	const served = "True/Serving True/MinimumReplicasAvailable False/RolloutComplete "
	each := func(reason string) string {
		return "False/" + reason + " False/" + reason + " True/RolloutInProgress "
	}
	for name, test := range map[string]struct {
		tweak func(*Input)
		// want is Ready, Available, Progressing and Synced.
		want       string
		wantCommit string
		// message is part of the message of Ready.
		message string
	}{
		"all well": {func(*Input) {}, served + "True/CommitPublished", commitA, ""},
		"commit observation disabled": {func(in *Input) {
			in.Probing = false
			in.Pods[0].Observed, in.Pods[1].Observed = false, false
		},
			served + "Unknown/NotObserved", "", ""},
		"offline": {func(in *Input) {
			in.Website.Spec.Replicas = new(int32)
			in.Deployment.Status = cached.DeploymentStatus{}
			in.Pods = nil
		},
			"True/ScaledToZero True/ScaledToZero False/RolloutComplete Unknown/NoReadyPods", "", "offline"},
		"rolling to another template, old pods serve": {func(in *Input) { in.Deployment.Status.UpdatedReplicas = 1 },
			"False/RolloutInProgress True/MinimumReplicasAvailable True/RolloutInProgress True/CommitPublished", commitA, ""},
		"status of the Deployment is about an older spec": {func(in *Input) {
			in.Deployment.Generation = 2
			in.Deployment.Status.ObservedGeneration = 1
		},
			"False/RolloutInProgress True/MinimumReplicasAvailable True/RolloutInProgress True/CommitPublished", commitA, ""},
		"rollout stuck": {func(in *Input) {
			in.Deployment.Status.UpdatedReplicas = 1
			in.Deployment.Status.Progressing = corev1.ConditionFalse
			in.Deployment.Status.ProgressingReason = "ProgressDeadlineExceeded"
		}, "False/ProgressDeadlineExceeded True/MinimumReplicasAvailable False/ProgressDeadlineExceeded " +
			"True/CommitPublished", commitA, ""},
		"rollout paused": {func(in *Input) { in.Deployment.Paused = true; in.Deployment.Status.UpdatedReplicas = 0 },
			"False/DeploymentPaused True/MinimumReplicasAvailable False/DeploymentPaused True/CommitPublished", commitA,
			"kubectl rollout resume deployment/"},
		"paused, nothing to roll out": {func(in *Input) { in.Deployment.Paused = true },
			served + "True/CommitPublished", commitA, ""},
		"rollout pending": {func(in *Input) { in.RolloutPending = true },
			"True/Serving True/MinimumReplicasAvailable False/RolloutPending True/CommitPublished", commitA, "as specified"},
		"rollout pending, one of two pods unavailable": {func(in *Input) {
			in.RolloutPending, in.Deployment.Status.AvailableReplicas = true, 1
			in.Pods[0].Ready = false
		},
			"False/MinimumReplicasUnavailable True/MinimumReplicasAvailable True/RolloutInProgress True/CommitPublished",
			commitA, "too few"},
		"one of two pods unavailable": {func(in *Input) {
			in.Deployment.Status.AvailableReplicas = 1
			in.Pods[0].Ready = false
		},
			"False/MinimumReplicasUnavailable True/MinimumReplicasAvailable True/RolloutInProgress True/CommitPublished",
			commitA, "too few"},
		"no pod yet": {func(in *Input) { in.Deployment.Status = cached.DeploymentStatus{}; in.Pods = nil },
			"False/RolloutInProgress False/MinimumReplicasUnavailable True/RolloutInProgress Unknown/NoReadyPods", "", ""},

		"image": {broken(waiting("ImagePullBackOff", "Back-off")),
			each("ImageUnavailable") + "Unknown/NoReadyPods", "", `image "example.com/nginx:1"`},
		"image, first time": {broken(waiting("ErrImagePull", "")), each("ImageUnavailable") + "Unknown/NoReadyPods", "",
			"cannot be pulled"},
		"missing key": {broken(waiting("CreateContainerConfigError", `secret "x" not found`)),
			each("ContainerConfigError") + "Unknown/NoReadyPods", "", `secret "x" not found`},
		"crashing": {broken(waiting("CrashLoopBackOff", "")),
			each("ContainerFailing") + "Unknown/NoReadyPods", "", "nginx"},
		"crashing, as it exits": {broken(func(p *Pod) {
			waiting("CrashLoopBackOff", "")(p)
			p.Containers[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137,
				Reason: "OOMKilled"}
		}), each("ContainerFailing") + "Unknown/NoReadyPods", "", "last with exit code 137 (OOMKilled)"},
		"crashing, as a fetch fails": {broken(func(p *Pod) {
			waiting("CrashLoopBackOff", "")(p)
			p.Observed, p.Reachable, p.Failure = true, true, git.ReasonAuthentication
		}), each("AuthenticationFailed") + "False/AuthenticationFailed", "", "spec.source.git.secretRef"},
		"creating": {broken(waiting("ContainerCreating", "")),
			"False/MinimumReplicasUnavailable False/MinimumReplicasUnavailable True/RolloutInProgress Unknown/NoReadyPods", "",
			""},
		"unschedulable": {broken(func(p *Pod) {
			p.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
				Reason: "Unschedulable", Message: "0/3 nodes are available"}}
		}), each("Unschedulable") + "Unknown/NoReadyPods", "", "0/3 nodes"},
		"volumes": {broken(func(p *Pod) {
			p.Phase = corev1.PodPending
			p.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}}
		}), each("PodNotStarting") + "Unknown/NoReadyPods", "", "volumes"},
		"evicted": {broken(evicted(time.Minute)),
			each("StorageFull") + "Unknown/NoReadyPods", "", "2Gi"},
		"evicted, as the agent says": {broken(evictedCleanly(time.Minute)),
			each("StorageFull") + "Unknown/NoReadyPods", "", "the volume is full"},
		"ended for another reason": {broken(func(p *Pod) {
			evictedCleanly(time.Minute)(p)
			p.Containers[0].State.Terminated.Message = "something else"
		}), "False/MinimumReplicasUnavailable False/MinimumReplicasUnavailable True/RolloutInProgress Unknown/NoReadyPods",
			"", ""},
		"evicted, and its successor starts": {func(in *Input) {
			broken(evictedCleanly(time.Minute))(in)
			in.Pods = append(in.Pods, starting(59*time.Second))
		}, each("StorageFull") + "Unknown/NoReadyPods", "", "the volume is full"},
		"evicted long ago, and another pod starts": {func(in *Input) {
			broken(evictedCleanly(time.Hour))(in)
			in.Pods = append(in.Pods, starting(time.Minute))
		}, "False/MinimumReplicasUnavailable False/MinimumReplicasUnavailable True/RolloutInProgress Unknown/NoReadyPods", "",
			""},
		"quota": {replicaFailure(`pods "kubia-website-1234-abcd" is forbidden: exceeded quota: few, requested: pods=1, ` +
			`used: pods=2, limited: pods=2`),
			each("QuotaExceeded") + "Unknown/NoReadyPods", "", `quota "few" is exceeded, limited: pods=2`},
		"pod security": {replicaFailure(`pods "kubia-website-1234-abcd" is forbidden: violates PodSecurity ` +
			`"restricted:latest": x`),
			each("AdmissionDenied") + "Unknown/NoReadyPods", "", "pods are rejected: violates PodSecurity"},
		"a LimitRange of containers": {replicaFailure(`pods "kubia-1" is forbidden: maximum memory usage per Container is ` +
			`200Mi, but limit is 256Mi`),
			each("AdmissionDenied") + "Unknown/NoReadyPods", "", "pods are rejected: container agent (spec.resources.sync), " +
				"git-sync (spec.resources.sync): maximum memory usage per Container is 200Mi"},
		"never fetched": {broken(func(p *Pod) { p.Observed, p.Reachable, p.Failure = true, true, git.ReasonAuthentication }),
			each("AuthenticationFailed") + "False/AuthenticationFailed", "", "spec.source.git.secretRef"},
		"wrong ref": {broken(func(p *Pod) { p.Observed, p.Reachable, p.Failure = true, true, git.ReasonRefNotFound }),
			each("RefNotFound") + "False/RefNotFound", "", "spec.source.git.ref"},
		"wrong path": {broken(func(p *Pod) { p.Observed, p.Reachable, p.PathNotFound = true, true, true }),
			each("PathNotFound") + "False/PathNotFound", "", "spec.source.path"},

		"warnings": {func(in *Input) { in.Pods[1].Warnings = "IndexMissing LFSPointers" },
			served + "True/PublishedWithWarnings", commitA, ""},
		"warnings of a pod that is not ready": {func(in *Input) {
			in.Pods = append(in.Pods, starting(time.Second))
			in.Pods[2].Warnings = "IndexMissing"
		}, served + "True/CommitPublished", commitA, ""},
		"warnings stay while it is unknown whether fetching works": {fetchesUnknown("True", "PublishedWithWarnings"),
			served + "True/PublishedWithWarnings", commitA, ""},
		"remote unreachable": {func(in *Input) { in.Pods[1].Failure = git.ReasonUnreachable },
			served + "False/RepositoryUnreachable", commitA, ""},
		"no such repository any more": {func(in *Input) { in.Pods[1].Failure = git.ReasonNotFound },
			served + "False/RepositoryNotFound", commitA, ""},
		"fails for an unknown reason": {func(in *Input) { in.Pods[1].Failure = git.ReasonUnknown },
			served + "False/SyncFailing", commitA, ""},
		"remote unreachable, but the commit is fixed": {func(in *Input) {
			in.Pods[1].Failure = git.ReasonUnreachable
			in.Website.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: commitA}
		}, served + "True/CommitPublished", commitA, ""},
		"path removed by a push": {func(in *Input) { in.Pods[0].PathNotFound, in.Pods[1].PathNotFound = true, true },
			served + "False/PathNotFound", commitA, ""},
		"pods differ": {func(in *Input) { in.Pods[1].Commit = commitB; in.Website.Status.Commit = commitA },
			served + "False/CommitsDiffer", "", ""},
		"pods differ, as one cannot follow": {func(in *Input) {
			in.Pods[1].Commit, in.Pods[0].Failure = commitB, git.ReasonSubmodule
			in.Website.Status.Commit = commitA
		}, served + "False/SubmoduleFailing", "", ""},
		"not probed yet keeps the reported status": {func(in *Input) {
			in.Pods[1].Observed = false
			in.Website.Status.Commit = commitB
			in.Website.Status.Conditions = []metav1.Condition{condition("Synced", metav1.ConditionFalse,
				"RepositoryUnreachable", "x")}
		}, served + "False/RepositoryUnreachable", commitB, ""},
		"not probed yet, nothing was reported": {func(in *Input) { in.Pods[1].Observed = false },
			served + "Unknown/Observing", "", ""},
		"unreachable keeps the commit": {
			func(in *Input) { in.Pods[1].Reachable = false; in.Website.Status.Commit = commitB },
			served + "Unknown/PodsUnreachable", commitB, "",
		},
		"git-sync does not answer": {func(in *Input) { in.Pods[1].SyncUnreachable = true },
			served + "Unknown/PodsUnreachable", commitA, ""},
		"git-sync does not answer and need not": {func(in *Input) {
			in.Pods[1].SyncUnreachable = true
			in.Website.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: commitA}
		}, served + "True/CommitPublished", commitA, ""},
		"an evicted pod is left over": {func(in *Input) {
			in.Pods = append(in.Pods, newPod("0"))
			in.Pods[2].Ready, in.Pods[2].Failure = false, git.ReasonUnknown
			evicted(time.Minute)(&in.Pods[2])
		}, served + "True/CommitPublished", commitA, ""},
		"an evicted pod is left over, another fails": {func(in *Input) {
			broken(waiting("ImagePullBackOff", ""))(in)
			in.Pods = append([]Pod{newPod("0")}, in.Pods...)
			in.Pods[0].Ready = false
			evicted(time.Minute)(&in.Pods[0])
		}, each("ImageUnavailable") + "Unknown/NoReadyPods", "", "cannot be pulled"},
		"after a restart it is not known whether it still fails": {fetchesUnknown("False", "RepositoryUnreachable"),
			served + "False/RepositoryUnreachable", commitA, ""},
		"nor whether git-sync answers": {fetchesUnknown("Unknown", "PodsUnreachable"),
			served + "Unknown/PodsUnreachable", commitA, ""},
		"nor whether it still works": {fetchesUnknown("True", "CommitPublished"),
			served + "True/CommitPublished", commitA, ""},
		"nor was it before": {fetchesUnknown("Unknown", "Observing"),
			served + "Unknown/Observing", commitA, ""},
		"pods that differed agree, the rest is not known": {fetchesUnknown("False", "CommitsDiffer"),
			served + "Unknown/Observing", commitA, ""},
		"it never was known": {func(in *Input) { in.Pods[1].FollowingUnknown = true },
			served + "Unknown/Observing", commitA, ""},
		"it is not known and need not be": {func(in *Input) {
			fetchesUnknown("Unknown", "PodsUnreachable")(in)
			in.Website.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: commitA}
		}, served + "True/CommitPublished", commitA, ""},

		"suspended": {suspendedOn(commitA), served + "Unknown/Suspended", commitA, ""},
		"suspended, unlisted": {func(in *Input) { suspendedOn(commitA)(in); in.Pods[0].Failure = "Unreachable" },
			served + "Unknown/Suspended", commitA, ""},
		"suspending": {func(in *Input) { suspendedOn(commitA)(in); in.Pods[1].Commit = commitB },
			served + "False/CommitsDiffer", "", ""},
		"not suspended yet": {suspendedOn(commitB), served + "Unknown/Suspending", commitA, ""},
		"suspended, no pods": {func(in *Input) { suspendedOn(commitA)(in); in.Pods = nil },
			served + "Unknown/Suspended", "", ""},
		"suspended before it was published": {func(in *Input) {
			suspendedOn("")(in)
			broken(func(*Pod) {})(in)
		}, "False/SuspendedWithoutCommit False/SuspendedWithoutCommit True/RolloutInProgress Unknown/SuspendedWithoutCommit",
			"", "no commit was published"},
		"suspended before it was published, a pod fails": {func(in *Input) {
			suspendedOn("")(in)
			broken(waiting("ImagePullBackOff", ""))(in)
		}, each("ImageUnavailable") + "Unknown/SuspendedWithoutCommit", "", "cannot be pulled"},
		"suspended, and the commit of the pods is unknown": {func(in *Input) { suspendedOn("")(in); in.Probing = false },
			served + "Unknown/SuspendedWithoutCommit", "", ""},

		"name taken": {func(in *Input) {
			in.Deployment, in.Service, in.Pods = nil, nil, nil
			in.Problem = problem.NameTaken("d", false, `Deployment "d" exists already and belongs to Website "first"`)
		}, "False/NameTaken False/NameTaken False/NameTaken Unknown/NoReadyPods", "", `belongs to Website "first"`},
		"service selects other pods": {func(in *Input) { in.Service.Selector = "app=other" },
			"False/NoEndpoints False/NoEndpoints False/RolloutComplete True/CommitPublished", commitA, `Service "s"`},
		"service without selector": {func(in *Input) { in.Service.Selector = "" },
			"False/NoEndpoints False/NoEndpoints False/RolloutComplete True/CommitPublished", commitA, `Service "s"`},
		"service selects a port that no pod has": {func(in *Input) {
			in.Service.Ports[0].TargetPort = intstr.FromString("web")
		},
			"False/NoEndpoints False/NoEndpoints False/RolloutComplete True/CommitPublished", commitA, `Service "s"`},
		"service selects one of two pods": {func(in *Input) { in.Pods[0].Labels = "" },
			served + "True/CommitPublished", commitA, ""},
		"service selects a number": {func(in *Input) { in.Service.Ports[0].TargetPort = intstr.FromInt32(8080) },
			served + "True/CommitPublished", commitA, ""},
		"no service, pods serve": {func(in *Input) {
			in.Service, in.ServiceMissing = nil, true
			in.Problem = &problem.Problem{Reason: "NodePortsExhausted", Message: "x"}
		}, "False/NodePortsExhausted False/NodePortsExhausted False/NodePortsExhausted True/CommitPublished", commitA, "x"},
		"service rejected, pods serve": {func(in *Input) {
			in.Problem = &problem.Problem{Reason: "QuotaExceeded", Message: "x"}
		},
			"False/QuotaExceeded True/MinimumReplicasAvailable False/QuotaExceeded True/CommitPublished", commitA, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(test.tweak)
			status := Compute(in)
			var got []string
			for _, kind := range []string{"Ready", "Available", "Progressing", "Synced"} {
				c := meta.FindStatusCondition(status.Conditions, kind)
				if c == nil {
					t.Fatalf("no condition %s", kind)
				}
				if c.Message == "" || c.ObservedGeneration != in.Website.Generation {
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

			checkAbnormal(t, in, &status)
			if status.ObservedGeneration != in.Website.Generation {
				t.Errorf("the status is about generation %d, want %d", status.ObservedGeneration, in.Website.Generation)
			}

			// A second status from the same state is equal, even after an hour.
			in.Website.Status, in.Now = status, in.Now.Add(time.Hour)
			if again := Compute(in); !equalStatus(again, status) {
				t.Errorf("an hour later:\n got %+v\nwant %+v", again, status)
			}
		})
	}
}

// TestSyncedIsAboutThePodsOfTheSpec: the outdated pods agree on a commit, which says nothing about
// the new pods.
func TestSyncedIsAboutThePodsOfTheSpec(t *testing.T) {
	in := newInput(func(in *Input) { in.Website.Generation = 1 })
	generation := func() int64 {
		in.Website.Status = Compute(in)
		synced := meta.FindStatusCondition(in.Website.Status.Conditions, v1beta1.WebsiteSynced)
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
		{"rolling out", func() { in.Website.Generation, in.Deployment.Status.UpdatedReplicas = 2, 0 }, 1},
		{"new pods, not probed yet", func() { in.Deployment.Status.UpdatedReplicas, in.Pods[0].Observed = 2, false }, 1},
		{"new pods have answered", func() { in.Pods[0].Observed = true }, 2},
	} {
		step.tweak()
		if got := generation(); got != step.want {
			t.Errorf("%s: Synced is about generation %d, want %d", step.when, got, step.want)
		}
	}
}

// TestSyncedOfFormerPods: an outdated pod says nothing about the current spec, which may have another
// Secret.
func TestSyncedOfFormerPods(t *testing.T) {
	in := newInput(func(in *Input) {
		in.Website.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: "wrong"}
		for i := range in.Pods {
			in.Pods[i].Failure, in.Pods[i].FailedTwice = git.ReasonAuthentication, true
		}
	})
	in.Website.Status = Compute(in)
	in.Website.Generation++
	in.Website.Spec.Source.Git.SecretRef.Name = "right"
	for i := range in.Pods {
		in.Pods[i].Template = "former"
	}
	in.Deployment.Status.UpdatedReplicas = 1
	in.Pods = append(in.Pods, starting(time.Second))
	synced := func() *metav1.Condition {
		status := Compute(in)
		return meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteSynced)
	}
	if got := synced(); got.Reason != v1beta1.WebsiteReasonAuthenticationFailed || got.ObservedGeneration != 2 ||
		!strings.Contains(got.Message, "wrong") {
		t.Errorf("while the former pods serve: %+v", got)
	}
	in.Pods[2].Observed, in.Pods[2].Reachable, in.Pods[2].Failure = true, true, git.ReasonAuthentication
	if got := synced(); got.ObservedGeneration != 3 || !strings.Contains(got.Message, "right") {
		t.Errorf("when a current pod has failed: %+v", got)
	}
}

// TestLeftBehind: the children that another controller has left behind are named, and do not affect
// the site.
func TestLeftBehind(t *testing.T) {
	const left = `remove them with "kubectl delete"`
	for name, test := range map[string]struct {
		tweak func(*Input)
		ready metav1.ConditionStatus
	}{
		"served":       {func(*Input) {}, metav1.ConditionTrue},
		"being rolled": {func(in *Input) { in.Deployment.Status.UpdatedReplicas = 1 }, metav1.ConditionFalse},
		"offline": {func(in *Input) {
			in.Website.Spec.Replicas, in.Deployment.Status, in.Pods = ptr.To[int32](0), cached.DeploymentStatus{}, nil
		}, metav1.ConditionTrue},
	} {
		before := Compute(newInput(test.tweak))
		after := Compute(newInput(test.tweak, func(in *Input) { in.LeftBehind = left }))
		ready := meta.FindStatusCondition(after.Conditions, v1beta1.WebsiteReady)
		if ready.Status != test.ready || !strings.HasSuffix(ready.Message, "; "+left) {
			t.Errorf("%s: Ready is %s: %q, want %s, and the command", name, ready.Status, ready.Message, test.ready)
		}
		ready.Message = meta.FindStatusCondition(before.Conditions, v1beta1.WebsiteReady).Message
		if !equalStatus(before, after) {
			t.Errorf("%s: something else changes as well: %+v, was %+v", name, after, before)
		}
	}
}

// TestChangedMessagesOfErrorsAreNotWritten: an error whose message changes each time would be written
// each time, and each write reconciles the Website again. Another error is written.
func TestChangedMessagesOfErrorsAreNotWritten(t *testing.T) {
	for name, test := range map[string]struct {
		reason, first, second string
		wantWrite             bool
	}{
		"another port": {v1beta1.WebsiteReasonReconcileError, `creating Service "a": 10.0.0.1:36214: refused`,
			`creating Service "a": 10.0.0.1:36216: refused`, false},
		"another error": {v1beta1.WebsiteReasonReconcileError, `creating Service "a": refused`,
			`creating Service "a": timed out`, false},
		"another object": {v1beta1.WebsiteReasonReconcileError, `creating Deployment "a": refused`,
			`creating Service "a": refused`, true},
		"another usage": {v1beta1.WebsiteReasonQuotaExceeded, "exceeded quota: q, used: services=2",
			"exceeded quota: q, used: services=3", false},
		"another quota": {v1beta1.WebsiteReasonQuotaExceeded, "exceeded quota: q, used: services=2",
			"exceeded quota: other, used: services=2", true},
		"another policy":        {v1beta1.WebsiteReasonAdmissionDenied, "policy a", "policy b", true},
		"another name is taken": {v1beta1.WebsiteReasonNameTaken, "name 1", "name 2", true},
	} {
		in := newInput(func(in *Input) { in.Problem = &problem.Problem{Reason: test.reason, Message: test.first} })
		in.Website.Status = Compute(in)
		in.Problem = &problem.Problem{Reason: test.reason, Message: test.second}
		if changed := !equalStatus(Compute(in), in.Website.Status); changed != test.wantWrite {
			t.Errorf("%s: a changed message is written: %t, want %t", name, changed, test.wantWrite)
		}
	}
}

func TestLastTransitionTime(t *testing.T) {
	in := newInput()
	in.Website.Status = Compute(in)
	in.Now = testNow.Add(time.Hour)
	in.Problem = problem.InvalidSpec(errors.New("bad"))
	for _, c := range Compute(in).Conditions {
		changed := c.Type == "Ready" || c.Type == "Stalled"
		if moved := !c.LastTransitionTime.Time.Equal(testNow); moved != changed {
			t.Errorf("%s: last transition at %v", c.Type, c.LastTransitionTime)
		}
	}
}

// TestPathNotFoundSaysWhatIsServed: a pod that has a release keeps serving it.
func TestPathNotFoundSaysWhatIsServed(t *testing.T) {
	for commit, want := range map[string]string{
		"":      `spec.source.path: the last commit has no directory "public"`,
		commitA: `spec.source.path: the last commit has no directory "public"; the release before it is served`,
	} {
		in := newInput(func(in *Input) {
			in.Website.Spec.Source.Path = "public"
			for i := range in.Pods {
				in.Pods[i].Commit, in.Pods[i].PathNotFound, in.Pods[i].Ready = commit, true, commit != ""
			}
		})
		status := Compute(in)
		if synced := meta.FindStatusCondition(status.Conditions, "Synced"); synced.Message != want {
			t.Errorf("with commit %q the message is %q, want %q", commit, synced.Message, want)
		}
	}
}
