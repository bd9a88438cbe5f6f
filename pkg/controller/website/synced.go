package website

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/observer"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// commitState is what is known about the commit of several pods.
type commitState int

const (
	// commitAgreed: all ready pods serve one commit.
	commitAgreed commitState = iota
	// commitDiffers: they serve several.
	commitDiffers
	// commitPending: some have not answered yet.
	commitPending
	// commitUnreachable: some do not answer.
	commitUnreachable
	// commitNone: there is no ready pod.
	commitNone
)

// commitOf returns the commit that all ready pods serve, if there is one.
func commitOf(pods []observedPod) (string, commitState) {
	commit, state := "", commitNone
	for _, pod := range pods {
		switch {
		case !pod.ready:
			continue
		case !pod.observed, pod.Reachable && pod.Commit == "":
			// A ready pod has a commit; it has lost it, or not said it yet.
			return "", commitPending
		case !pod.Reachable:
			return "", commitUnreachable
		case state == commitNone:
			commit, state = pod.Commit, commitAgreed
		case pod.Commit != commit:
			commit, state = "", commitDiffers
		}
		if state == commitDiffers {
			return "", commitDiffers
		}
	}
	return commit, state
}

// synced returns the commit to report, and the condition Synced. What cannot be
// seen just now stays as it was reported last.
func (v *view) synced() (string, metav1.Condition) {
	commit, state := commitOf(v.pods)
	previous := v.site.Status.Commit
	unknown := func(reason, message string) metav1.Condition {
		return condition(v1beta1.WebsiteSynced, metav1.ConditionUnknown, reason, message)
	}
	failed := func(c *cause) metav1.Condition {
		return condition(v1beta1.WebsiteSynced, metav1.ConditionFalse, c.reason, c.message)
	}

	switch {
	case !v.observing:
		if c := v.suspension(""); c != nil {
			return v.kept, unknown(c.reason, c.message)
		}
		return "", unknown(v1beta1.WebsiteReasonNotObserved, "nobody asks the pods which commit they serve: website-controller runs with --commit-observation=None")
	case state == commitNone:
		if c := v.failureOfAnyPod(); c != nil {
			return v.kept, failed(c)
		}
		if c := v.suspension(""); c != nil {
			return v.kept, unknown(c.reason, c.message)
		}
		return "", unknown(v1beta1.WebsiteReasonNoReadyPods, "there is no ready pod that serves a commit")
	case state == commitUnreachable:
		return previous, unknown(v1beta1.WebsiteReasonPodsUnreachable, "ready pods do not answer website-controller on their admin port; status.commit is what they served when they last did")
	case state == commitPending:
		if known := v.previousCondition(v1beta1.WebsiteSynced); known != nil && known.Reason != v1beta1.WebsiteReasonNoReadyPods {
			return previous, *known
		}
		return previous, unknown(v1beta1.WebsiteReasonObserving, observingMessage)
	case state == commitDiffers:
		return "", failed(&cause{v1beta1.WebsiteReasonCommitsDiffer, "the ready pods serve different commits: a new one is being fetched"})
	}
	if c := v.failureOfAnyPod(); c != nil {
		return commit, failed(c)
	}
	if c := v.suspension(commit); c != nil {
		return commit, unknown(c.reason, c.message)
	}
	if v.anyReadyPod(func(pod *observedPod) bool { return pod.SyncUnreachable }) {
		return commit, unknown(v1beta1.WebsiteReasonPodsUnreachable, "git-sync in ready pods does not answer website-controller on its metrics port, so nobody knows whether it can fetch the repository")
	}
	if v.anyReadyPod(func(pod *observedPod) bool { return pod.FollowingUnknown }) {
		if known := v.previousCondition(v1beta1.WebsiteSynced); known != nil && isAboutFetching(known.Reason) {
			return commit, *known
		}
		return commit, unknown(v1beta1.WebsiteReasonObserving, observingMessage)
	}
	published := condition(v1beta1.WebsiteSynced, metav1.ConditionTrue, v1beta1.WebsiteReasonCommitPublished, "every ready pod serves the commit that the repository had when it was last looked at")
	if known := v.previousCondition(v1beta1.WebsiteSynced); known != nil && !v.updated() {
		// The pods are still those of the spec before.
		published.ObservedGeneration = known.ObservedGeneration
	}
	return commit, published
}

const observingMessage = "not all ready pods have said yet which commit they serve and whether they can fetch the next"

// isAboutFetching reports whether a reason of Synced says, or leaves open, if the
// repository can be fetched. It holds until something else is known.
func isAboutFetching(reason string) bool {
	switch reason {
	case v1beta1.WebsiteReasonCommitPublished, v1beta1.WebsiteReasonPodsUnreachable, v1beta1.WebsiteReasonObserving:
		return true
	default:
		return toldByPods.Has(reason)
	}
}

// suspension says how far a suspended Website is, or nothing when it is not.
func (v *view) suspension(commit string) *cause {
	switch {
	case !v.site.Spec.Suspend:
		return nil
	case v.kept == "":
		return &cause{v1beta1.WebsiteReasonSuspending, "spec.suspend is true, and the pods stop following the repository as soon as it is known that all serve one commit"}
	case commit != "" && commit != v.kept:
		return &cause{v1beta1.WebsiteReasonSuspending, "spec.suspend is true, and the pods are being replaced by some that stay on commit " + v.kept}
	default:
		return &cause{v1beta1.WebsiteReasonSuspended, "spec.suspend is true: the pods stay on commit " + v.kept + " and do not follow the repository"}
	}
}

// failureOfAnyPod returns why a pod cannot publish what it should. A pod that
// serves the very commit it is told to needs nothing from the repository.
func (v *view) failureOfAnyPod() *cause {
	fixed := v.kept
	if ref := v.site.Spec.Source.Ref; fixed == "" && ref != nil {
		fixed = ref.Commit
	}
	for _, pod := range v.pods {
		if !pod.observed || !pod.Reachable || !pod.DeletionTimestamp.IsZero() || observer.HasEnded(pod.Pod) {
			continue
		}
		if pod.PathNotFound {
			return pathNotFound(v.site)
		}
		if pod.Failure != observer.FailureNone && (fixed == "" || pod.Commit != fixed) {
			return causeOfFailure(v.site, pod.Failure)
		}
	}
	return v.remembered(v1beta1.WebsiteSynced, v.anyUndecided())
}

// anyReadyPod reports whether there is a ready pod of this kind, if the pods
// follow anything.
func (v *view) anyReadyPod(is func(*observedPod) bool) bool {
	ref := v.site.Spec.Source.Ref
	if v.kept != "" || (ref != nil && resources.IsCommit(ref.Commit)) {
		return false // Nothing is followed.
	}
	return slices.ContainsFunc(v.pods, func(pod observedPod) bool { return pod.ready && is(&pod) })
}
