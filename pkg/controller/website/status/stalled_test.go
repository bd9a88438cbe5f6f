package status

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// abnormal returns Stalled or Reconciling with its reason, or "".
func abnormal(status *v1beta1.WebsiteStatus) string {
	for _, kind := range []string{v1beta1.WebsiteStalled, v1beta1.WebsiteReconciling} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			return kind + "/" + c.Reason
		}
	}
	return ""
}

// checkAbnormal checks the invariants of every status: Stalled and Reconciling are True or absent,
// never both, and a Website that is not Ready has one of them.
func checkAbnormal(t *testing.T, in *Input, status *v1beta1.WebsiteStatus) {
	t.Helper()
	present := 0
	for _, kind := range []string{v1beta1.WebsiteStalled, v1beta1.WebsiteReconciling} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		if c == nil {
			continue
		}
		present++
		if c.Status != metav1.ConditionTrue || c.Message == "" || c.ObservedGeneration != in.Website.Generation {
			t.Errorf("condition %+v", c)
		}
	}
	if present > 1 || present == 0 && !meta.IsStatusConditionTrue(status.Conditions, v1beta1.WebsiteReady) {
		t.Errorf("%d of Stalled and Reconciling: %+v", present, status.Conditions)
	}
}

func TestStalledAndReconciling(t *testing.T) {
	fetch := func(failure git.Reason, twice bool) func(*Input) {
		return broken(func(p *Pod) { p.Observed, p.Reachable, p.Failure, p.FailedTwice = true, true, failure, twice })
	}
	taken := func(passing bool) func(*Input) {
		return func(in *Input) {
			in.Deployment, in.Service, in.Pods = nil, nil, nil
			in.Problem = problem.NameTaken("d", passing, "taken")
		}
	}
	reports := func(reason string) func(*Input) {
		return func(in *Input) { in.Problem = &problem.Problem{Reason: reason, Message: "x"} }
	}
	for name, test := range map[string]struct {
		tweak func(*Input)
		want  string
	}{
		"all well": {func(*Input) {}, ""},
		"scaled to zero": {func(in *Input) {
			withReplicas(0)(in.Website)
			in.Deployment.Status, in.Pods = cached.DeploymentStatus{}, nil
		}, ""},
		"created": {func(in *Input) { in.Deployment.Status, in.Pods = cached.DeploymentStatus{}, nil },
			"Reconciling/RolloutInProgress"},
		"rolling out": {func(in *Input) { in.Deployment.Status.UpdatedReplicas = 1 },
			"Reconciling/RolloutInProgress"},
		"change not observed": {func(in *Input) { in.Deployment.Generation = 2 }, "Reconciling/RolloutInProgress"},
		"paused": {
			func(in *Input) { in.Deployment.Paused = true; in.Deployment.Status.UpdatedReplicas = 0 },
			"Stalled/DeploymentPaused",
		},
		"paused, nothing to roll out":                 {func(in *Input) { in.Deployment.Paused = true }, ""},
		"name taken":                                  {taken(false), "Stalled/NameTaken"},
		"name taken by a child that is being deleted": {taken(true), "Reconciling/NameTaken"},
		"invalid":                 {reports(v1beta1.WebsiteReasonSpecInvalid), "Stalled/SpecInvalid"},
		"another controller":      {reports(v1beta1.WebsiteReasonConflictingManager), "Stalled/ConflictingManager"},
		"node port taken":         {reports(v1beta1.WebsiteReasonNodePortTaken), "Stalled/NodePortTaken"},
		"quota":                   {reports(v1beta1.WebsiteReasonQuotaExceeded), "Reconciling/QuotaExceeded"},
		"the API server fails":    {reports(v1beta1.WebsiteReasonReconcileError), "Reconciling/ReconcileError"},
		"image":                   {broken(waiting("ErrImagePull", "")), "Reconciling/ImageUnavailable"},
		"ref, first fetch":        {fetch(git.ReasonRefNotFound, false), "Reconciling/RefNotFound"},
		"ref, second fetch":       {fetch(git.ReasonRefNotFound, true), "Stalled/RefNotFound"},
		"credentials, first":      {fetch(git.ReasonAuthentication, false), "Reconciling/AuthenticationFailed"},
		"credentials, second":     {fetch(git.ReasonAuthentication, true), "Stalled/AuthenticationFailed"},
		"no commits, first":       {fetch(git.ReasonEmpty, false), "Reconciling/RepositoryEmpty"},
		"no commits, second":      {fetch(git.ReasonEmpty, true), "Stalled/RepositoryEmpty"},
		"login, second":           {fetch(git.ReasonWebPage, true), "Stalled/WebPageAnswered"},
		"certificate, second":     {fetch(git.ReasonCertificate, true), "Stalled/RepositoryCertificateInvalid"},
		"too large, second":       {fetch(git.ReasonTooLarge, true), "Stalled/RepositoryTooLarge"},
		"no CA, second":           {fetch(git.ReasonCAMissing, true), "Reconciling/CAMissing"},
		"memory, second":          {fetch(git.ReasonMemory, true), "Reconciling/SyncOutOfMemory"},
		"no repository, second":   {fetch(git.ReasonNotFound, true), "Stalled/RepositoryNotFound"},
		"unreachable, second":     {fetch(git.ReasonUnreachable, true), "Reconciling/RepositoryUnreachable"},
		"unknown failure, second": {fetch(git.ReasonUnknown, true), "Reconciling/SyncFailing"},
		"path": {broken(func(p *Pod) { p.Observed, p.Reachable, p.PathNotFound = true, true, true }),
			"Stalled/PathNotFound"},
		"path removed by a push": {func(in *Input) { in.Pods[0].PathNotFound, in.Pods[1].PathNotFound = true, true }, ""},
		"served, ref removed": {
			func(in *Input) { in.Pods[0].Failure, in.Pods[0].FailedTwice = git.ReasonRefNotFound, true }, "",
		},
		"ref of the spec before, not observed": {func(in *Input) {
			fetch(git.ReasonRefNotFound, true)(in)
			in.Deployment.Generation = 2
		}, "Reconciling/RolloutInProgress"},
		"ref of the spec before, no other pod": {func(in *Input) {
			fetch(git.ReasonRefNotFound, true)(in)
			in.Template = ""
		}, "Reconciling/RolloutInProgress"},
		"ref of the spec before, another pod starts": {func(in *Input) {
			fetch(git.ReasonRefNotFound, true)(in)
			in.Pods[0].Template = "former"
			in.Pods = append(in.Pods, starting(time.Second))
		}, "Reconciling/RolloutInProgress"},
		"ref of the spec before, whose pod was lost": {func(in *Input) {
			fetch(git.ReasonRefNotFound, true)(in)
			in.Pods[0].Template = "former"
			in.Pods[0].CreationTimestamp = metav1.NewTime(testNow)
			in.Pods = append(in.Pods, starting(time.Second))
		}, "Reconciling/RolloutInProgress"},
		"ref, and a pod of the spec before was lost": {func(in *Input) {
			fetch(git.ReasonRefNotFound, true)(in)
			in.Pods = append(in.Pods, starting(time.Second))
			in.Pods[1].Template = "former"
		}, "Stalled/RefNotFound"},
		"evicted for a spec that was taken back": {func(in *Input) {
			broken(waiting("ErrImagePull", ""))(in)
			in.Pods = append(in.Pods, starting(time.Second))
			evicted(time.Second)(&in.Pods[1])
			in.Pods[1].Template = "former"
		}, "Reconciling/ImageUnavailable"},
		"ref, and another pod starts": {func(in *Input) {
			fetch(git.ReasonRefNotFound, true)(in)
			in.Pods = append(in.Pods, starting(time.Second))
		}, "Stalled/RefNotFound"},
		"evicted, another has started": {func(in *Input) {
			in.Deployment.Status.AvailableReplicas = 1
			in.Pods = append(in.Pods, newPod("ended"))
			evicted(time.Hour)(&in.Pods[2])
			in.Pods[2].Ready = false
		}, "Reconciling/RolloutInProgress"},
		"evicted for the disk of the spec before": {func(in *Input) {
			broken(evicted(time.Second))(in)
			in.Pods[0].Template = "former"
			in.Pods = append(in.Pods, starting(time.Second))
		}, "Reconciling/RolloutInProgress"},
		"deadline exceeded": {func(in *Input) {
			in.Deployment.Status.UpdatedReplicas = 1
			in.Deployment.Status.Progressing = corev1.ConditionFalse
			in.Deployment.Status.ProgressingReason = "ProgressDeadlineExceeded"
		}, "Stalled/ProgressDeadlineExceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(test.tweak)
			status := Compute(in)
			if got := abnormal(&status); got != test.want {
				t.Errorf("reported %q, want %q", got, test.want)
			}
			checkAbnormal(t, in, &status)
		})
	}
}

// TestStalledOutlivesTheController: a controller that has just started has not probed the pods yet,
// and keeps the reported state meanwhile.
func TestStalledOutlivesTheController(t *testing.T) {
	for _, twice := range []bool{false, true} {
		in := newInput(broken(func(p *Pod) {
			p.Observed, p.Reachable, p.Failure, p.FailedTwice, p.PodIP = true, true, git.ReasonRefNotFound,
				twice, "192.0.2.9"
		}))
		in.Website.Status = Compute(in)
		want := abnormal(&in.Website.Status)
		in.Pods[0].Observation, in.Pods[0].Observed = workload.Observation{}, false
		if status := Compute(in); abnormal(&status) != want {
			t.Errorf("after a restart %s, want %s", abnormal(&status), want)
		}
	}
}
