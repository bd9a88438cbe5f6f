package status

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// remedy is the way to resolve a reason of the condition Routed.
type remedy int

const (
	// unneeded is for hosts that are routed. It includes DNS problems: the name may resolve to
	// another proxy in front of the Gateway, and changes when its owner decides to.
	unneeded remedy = iota
	// byWaiting is for reasons that another controller, the network or the next request may resolve.
	byWaiting
	// byUserInTime is for reasons that a user has to resolve, unless the missing object is being
	// created: a Gateway, a certificate. Clients give up when a Website is Stalled, so it becomes
	// Stalled only after the deadline.
	byUserInTime
	// byUser is for reasons that no other controller resolves.
	byUser
)

// remedies has all reasons of the condition Routed.
var remedies = map[string]remedy{
	v1beta1.WebsiteReasonHostsRouted:        unneeded,
	v1beta1.WebsiteReasonDNSElsewhere:       unneeded,
	v1beta1.WebsiteReasonCertificateNotUsed: unneeded,

	v1beta1.WebsiteReasonRoutePending:    byWaiting,
	v1beta1.WebsiteReasonHostUnreachable: byWaiting,

	v1beta1.WebsiteReasonGatewayAPIMissing:     byUserInTime,
	v1beta1.WebsiteReasonGatewayNotFound:       byUserInTime,
	v1beta1.WebsiteReasonGatewayNotProgrammed:  byUserInTime,
	v1beta1.WebsiteReasonRouteNotAccepted:      byUserInTime,
	v1beta1.WebsiteReasonListenerConflicted:    byUserInTime,
	v1beta1.WebsiteReasonReferencesNotResolved: byUserInTime,
	v1beta1.WebsiteReasonRouteNotWritten:       byUserInTime,
	v1beta1.WebsiteReasonCertificateInvalid:    byUserInTime,
	v1beta1.WebsiteReasonRedirectUnavailable:   byUserInTime,

	v1beta1.WebsiteReasonHostTaken: byUser,
}

// IsOfHosts reports whether a reason is one of the condition Routed.
func IsOfHosts(reason string) bool {
	_, isKnown := remedies[reason]
	return isKnown
}

// hostsDeadline is the time for which a reason that a user has to resolve may last: the progress
// deadline of a Deployment.
const hostsDeadline = resources.ProgressDeadlineSeconds * time.Second

// hostObstacle returns the reason why the hosts are not routed, and its remedy. A Website that is
// offline on request has no pods for its hosts.
func (in *Input) hostObstacle() (*finding, remedy) {
	if in.routed == nil || in.wantedReplicas() == 0 {
		return nil, unneeded
	}
	remedy := remedies[in.routed.Reason]
	if remedy == unneeded {
		return nil, unneeded
	}
	return &finding{reason: in.routed.Reason, message: in.routed.Message}, remedy
}

// hostsStalled returns a finding if the hosts are not routed until a user acts. The start is in the
// condition Reconciling, which starts again with another reason or generation: so a later controller
// knows the time of one reason, and a change of the spec starts a new deadline.
func hostsStalled(in *Input) *finding {
	found, remedy := in.hostObstacle()
	if found == nil || !in.current() {
		return nil
	}
	isOver := in.isReported(v1beta1.WebsiteStalled, found.reason) ||
		in.isReported(v1beta1.WebsiteReconciling, found.reason) &&
			in.Now.Sub(in.reported(v1beta1.WebsiteReconciling).LastTransitionTime.Time) >= hostsDeadline
	if remedy == byUser || remedy == byUserInTime && isOver {
		return found
	}
	return nil
}

// untilStalled returns the time until a Website becomes Stalled because of its hosts, or 0.
func (in *Input) untilStalled(computed *v1beta1.WebsiteStatus) time.Duration {
	reconciling := meta.FindStatusCondition(computed.Conditions, v1beta1.WebsiteReconciling)
	if reconciling == nil || remedies[reconciling.Reason] != byUserInTime {
		return 0
	}
	return hostsDeadline - in.Now.Sub(reconciling.LastTransitionTime.Time)
}

// hostsUnready returns a finding if a Website is not Ready because of its hosts: from the time when
// it is Stalled until they are routed. One failed request, or a Gateway that is replaced, does not
// change Ready.
func hostsUnready(in *Input) *finding {
	if found := hostsStalled(in); found != nil || !in.wasUnreadyForHosts() {
		return found
	}
	found, _ := in.hostObstacle()
	return found
}

// wasUnreadyForHosts reports whether the last written status has the Website not Ready because of its
// hosts alone.
func (in *Input) wasUnreadyForHosts() bool {
	ready := in.reported(v1beta1.WebsiteReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && remedies[ready.Reason] != unneeded
}
