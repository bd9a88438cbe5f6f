package status

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// stalledReasons are the reasons that only a user can resolve, by changing the Website or an object
// that it refers to. The others may resolve themselves: a node is added, a quota is raised, a Secret
// is created, a host is reachable again. Since clients give up when a Website is stalled, uncertain
// reasons are omitted. A failed fetch counts after the second in a row.
var stalledReasons = sets.New(
	v1beta1.WebsiteReasonSpecInvalid,
	v1beta1.WebsiteReasonNameTaken,
	v1beta1.WebsiteReasonConflictingManager,
	v1beta1.WebsiteReasonNodePortTaken,
	v1beta1.WebsiteReasonDeploymentPaused,
	v1beta1.WebsiteReasonSuspendedWithoutCommit,
	v1beta1.WebsiteReasonProgressDeadlineExceeded,
	v1beta1.WebsiteReasonAccessSecretInvalid,
).Union(conditionReasons(func(failure workload.Failure) bool { return failure.ByUser }))

// stalled returns the finding that keeps a Website from matching its spec until a user acts. Pods
// come before hosts: a host without pods behind it is unreachable.
func stalled(in *Input) *finding {
	found := obstacle(in)
	if found == nil {
		return hostsStalled(in)
	}
	if found.transient || !stalledReasons.Has(found.reason) {
		return nil
	}
	return found
}

// reconciling returns a finding if a Website does not match its spec yet, and no action of a user is
// known to be necessary.
func reconciling(in *Input) *finding {
	if stalled(in) != nil {
		return nil
	}
	if found := obstacle(in); found != nil {
		return found
	}
	if !in.rolledOut() {
		return rolloutInProgress(in)
	}
	found, _ := in.hostObstacle()
	return found
}

// obstacle returns the reason why the children of a Website do not match its spec, or nil. A Ready
// Website can have one: pods do not start that are added to the serving ones.
func obstacle(in *Input) *finding {
	for _, find := range []finder{childProblem, noEndpoints, paused, podProblem,
		unlessServing(suspendedWithoutCommit),
		unlessServing(overdue), requestsRejected} {
		if found := find(in); found != nil {
			return found
		}
	}
	return nil
}
