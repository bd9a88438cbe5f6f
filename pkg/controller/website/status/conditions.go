package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// declaration declares a condition. The first rule with a finding decides; without one the condition
// is absent.
type declaration struct {
	kind string
	// applies is false for Websites without the condition. Nil: all have it.
	applies func(*Input) bool
	rules   []rule
}

// rule gives a condition its status if find returns a finding.
type rule struct {
	status metav1.ConditionStatus
	find   finder
}

// finder returns a finding if it applies to an observed state, or nil.
type finder func(*Input) *finding

// finding is a reason with its message.
type finding struct {
	reason, message string
	// generation is the generation to which the finding applies. Zero means the current one.
	generation int64
	// transient is true when a retry may resolve the finding.
	transient bool
	// unchanged is the last reported condition, if it should stay.
	unchanged *metav1.Condition
}

// routedDeclaration is decided first: Ready and Stalled depend on it.
var routedDeclaration = declaration{v1beta1.WebsiteRouted, (*Input).hasRouting, []rule{
	{metav1.ConditionUnknown, routingUnknown},
	{metav1.ConditionFalse, hostTaken},
	{metav1.ConditionFalse, notRouted},
	{metav1.ConditionUnknown, routePending},
	{metav1.ConditionFalse, hostFailing},
	{metav1.ConditionUnknown, hostNotRequested},
	{metav1.ConditionTrue, certificateNotUsed},
	{metav1.ConditionTrue, dnsElsewhere},
	{metav1.ConditionTrue, hostsRouted},
}}

// conditions are the conditions of a Website, in their order in the status.
//
// Ready sums up: the children match the spec, and all requested pods are up to date and available. It
// stays True while spec.replicas alone changes and no pod is lost. A site that rejects every request
// because of its Secret does not match the spec. An unreachable repository does not affect it: the
// fetched files are served. Neither do previews, which are Websites of their own: they have the
// condition PreviewsReady, absent without spec.previews. Hosts affect it once the Website is Stalled
// because of them, until they are routed.
//
// Stalled and Reconciling are abnormal-true, as kstatus expects them: absent unless True, and never
// both True.
var conditions = []declaration{
	{v1beta1.WebsiteReady, nil, []rule{
		{metav1.ConditionFalse, childProblem},
		{metav1.ConditionTrue, withLeftBehind(scaledToZero)},
		{metav1.ConditionFalse, noEndpoints},
		{metav1.ConditionTrue, notObservedYet},
		{metav1.ConditionFalse, paused},
		{metav1.ConditionFalse, unlessServing(podProblem)},
		{metav1.ConditionFalse, unlessServing(suspendedWithoutCommit)},
		{metav1.ConditionFalse, unlessServing(overdue)},
		{metav1.ConditionFalse, requestsRejected},
		{metav1.ConditionFalse, unlessServing(unavailableThoughUpdated)},
		{metav1.ConditionFalse, unlessServing(withLeftBehind(rolloutInProgress))},
		{metav1.ConditionFalse, withLeftBehind(hostsUnready)},
		{metav1.ConditionTrue, withLeftBehind(serving)},
	}},
	{v1beta1.WebsiteAvailable, nil, []rule{
		{metav1.ConditionFalse, onlyWithoutDeployment(childProblem)},
		{metav1.ConditionFalse, onlyWithoutDeployment(noDeployment)},
		{metav1.ConditionTrue, noPodsWanted},
		{metav1.ConditionFalse, serviceMissing},
		{metav1.ConditionFalse, noEndpoints},
		{metav1.ConditionTrue, enoughAvailable},
		{metav1.ConditionFalse, podProblem},
		{metav1.ConditionFalse, suspendedWithoutCommit},
		{metav1.ConditionFalse, tooFewAvailable},
	}},
	{v1beta1.WebsiteProgressing, nil, []rule{
		{metav1.ConditionFalse, childProblem},
		{metav1.ConditionFalse, rolloutPending},
		{metav1.ConditionFalse, rolloutComplete},
		{metav1.ConditionFalse, paused},
		{metav1.ConditionFalse, overdue},
		{metav1.ConditionTrue, rolloutInProgress},
	}},
	{v1beta1.WebsiteSynced, nil, []rule{
		{metav1.ConditionUnknown, suspendedWithoutCommit},
		{metav1.ConditionUnknown, unlessProbing(suspension)},
		{metav1.ConditionUnknown, unlessProbing(notObserved)},
		{metav1.ConditionUnknown, podsUnreachable},
		{metav1.ConditionUnknown, commitPending},
		{metav1.ConditionFalse, commitsDiffer},
		{metav1.ConditionTrue, pinned},
		{metav1.ConditionFalse, fetchProblem},
		{metav1.ConditionFalse, pinPending},
		{metav1.ConditionUnknown, suspension},
		{metav1.ConditionUnknown, noReadyPods},
		{metav1.ConditionUnknown, syncUnreachable},
		{metav1.ConditionUnknown, fetchingUnknown},
		{metav1.ConditionTrue, commitPublished},
	}},
	routedDeclaration,
	{v1beta1.WebsitePreviewsReady, (*Input).hasPreviews, []rule{
		{metav1.ConditionUnknown, previewsSuspended},
		{metav1.ConditionFalse, previewProblem},
		{metav1.ConditionUnknown, branchesUnlisted},
		{metav1.ConditionUnknown, unlessProbing(previewsNotObserved)},
		{metav1.ConditionUnknown, branchesUnknown},
		{metav1.ConditionTrue, previewLimit},
		{metav1.ConditionTrue, previewsCurrent},
	}},
	{v1beta1.WebsiteStalled, nil, []rule{{metav1.ConditionTrue, stalled}}},
	{v1beta1.WebsiteReconciling, nil, []rule{{metav1.ConditionTrue, reconciling}}},
}

// decide returns the condition to report, or nil if it is absent.
func (d *declaration) decide(in *Input) *metav1.Condition {
	if d.applies != nil && !d.applies(in) {
		return nil
	}
	before := in.reported(d.kind)
	condition := metav1.Condition{
		Type: d.kind, ObservedGeneration: in.Website.Generation,
		// The time is used only if the status of the condition changes.
		LastTransitionTime: metav1.NewTime(in.Now.Truncate(time.Second)),
	}
	for _, rule := range d.rules {
		found := rule.find(in)
		if found == nil {
			continue
		}
		if found.unchanged != nil {
			return found.unchanged
		}
		condition.Status, condition.Reason = rule.status, found.reason
		condition.Message = problem.Shorten(found.message)
		if found.generation != 0 {
			condition.ObservedGeneration = found.generation
		}
		if before != nil && SameExceptWording(before, &condition) {
			condition.Message = before.Message
		}
		return &condition
	}
	return nil
}

// report returns a finder that always has the same finding.
func report(reason, message string) finder {
	return func(*Input) *finding { return &finding{reason: reason, message: message} }
}

// only limits a finder to some states.
func only(applies func(*Input) bool, find finder) finder {
	return func(in *Input) *finding {
		if !applies(in) {
			return nil
		}
		return find(in)
	}
}

func unlessServing(find finder) finder {
	return only(func(in *Input) bool { return !in.rolledOut() && !in.onlyScaling() }, find)
}

func onlyWithoutDeployment(find finder) finder {
	return only(func(in *Input) bool { return in.Deployment == nil }, find)
}

func unlessProbing(find finder) finder {
	return only(func(in *Input) bool { return !in.Probing }, find)
}

// withLeftBehind adds the children that another controller has left behind to the message of a
// finding.
func withLeftBehind(find finder) finder {
	return func(in *Input) *finding {
		found := find(in)
		if found != nil && in.LeftBehind != "" {
			found.message += "; " + in.LeftBehind
		}
		return found
	}
}
