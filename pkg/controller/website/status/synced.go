package status

import (
	"slices"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// commitState is the combined state of the commits of several pods.
type commitState int

const (
	// commitAgreed: all ready pods serve one commit.
	commitAgreed commitState = iota
	// commitDiffers: they serve several commits.
	commitDiffers
	// commitUnknown: some have not been probed yet.
	commitUnknown
	// commitUnreachable: some do not respond.
	commitUnreachable
	// commitNone: there is no ready pod.
	commitNone
)

// commitOf returns the commit that all ready pods serve, if there is one.
func commitOf(pods []Pod) (string, commitState) {
	commit, state := "", commitNone
	for _, pod := range pods {
		switch {
		case !pod.Ready:
			continue
		case !pod.Observed, pod.Reachable && pod.Commit == "":
			// A ready pod has served a commit; it has lost it, or not reported it yet.
			return "", commitUnknown
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

// commit returns the commit to report. While it cannot be observed, the last reported commit stays.
func (in *Input) commit() string {
	commit, state := commitOf(in.Pods)
	switch {
	case !in.Probing || state == commitNone:
		return ""
	case state == commitUnreachable || state == commitUnknown:
		return in.Website.Status.Commit
	default:
		return commit
	}
}

func (in *Input) commitState() commitState {
	_, state := commitOf(in.Pods)
	return state
}

// whenCommits returns a predicate for a state of the commits.
func whenCommits(state commitState) func(*Input) bool {
	return func(in *Input) bool { return in.commitState() == state }
}

var (
	notObserved = report(v1beta1.WebsiteReasonNotObserved,
		"commit observation is disabled: website-controller runs with --commit-observation=None")

	observing = report(v1beta1.WebsiteReasonObserving,
		"waiting for the ready pods to report their commit and their last fetch")

	podsUnreachable = only(whenCommits(commitUnreachable), report(v1beta1.WebsiteReasonPodsUnreachable,
		"ready pods are unreachable from website-controller on port 8081; status.commit is the last commit that they "+
			"reported"))

	noReadyPods = only(whenCommits(commitNone), report(v1beta1.WebsiteReasonNoReadyPods, "no pod is ready"))

	syncUnreachable = onlyFollowers(func(pod *Pod) bool { return pod.SyncUnreachable },
		report(v1beta1.WebsiteReasonPodsUnreachable, "the agent in ready pods does not answer, so the result of fetching "+
			"is unknown; see \"kubectl logs\" of container \"git-sync\""))

	// fetchingUnknown is for pods of which it is unknown whether they can fetch. The last reported
	// condition holds meanwhile.
	fetchingUnknown = onlyFollowers(func(pod *Pod) bool { return pod.FollowingUnknown }, func(in *Input) *finding {
		if before := in.reported(v1beta1.WebsiteSynced); before != nil && isAboutFetching(before.Reason) {
			return &finding{unchanged: before}
		}
		return observing(in)
	})
)

var commitPending = only(whenCommits(commitUnknown), func(in *Input) *finding {
	if before := in.reported(v1beta1.WebsiteSynced); before != nil && before.Reason != v1beta1.WebsiteReasonNoReadyPods {
		return &finding{unchanged: before}
	}
	return observing(in)
})

// commitsDiffer returns a finding if ready pods serve different commits, or the reason why one of
// them lacks the commit of the others.
func commitsDiffer(in *Input) *finding {
	if in.commitState() != commitDiffers {
		return nil
	}
	if cause := fetchProblem(in); cause != nil {
		return cause
	}
	return &finding{reason: v1beta1.WebsiteReasonCommitsDiffer,
		message: "the ready pods serve different commits while a new one is fetched"}
}

// fetchProblem returns the reason why a pod cannot publish its desired commit. A pod that already
// serves the fixed commit needs nothing from the repository.
func fetchProblem(in *Input) *finding {
	fixed := resources.PinOf(in.Website)
	if ref := resources.Git(in.Website).Ref; fixed == "" && ref != nil {
		fixed = ref.Commit
	}
	var former *finding
	for _, pod := range in.Pods {
		found := notPublished(in.Website, pod, fixed)
		switch {
		case found == nil:
		case in.isOfTheSpec(pod):
			return found
		case former == nil:
			former = found
		}
	}
	if former != nil {
		return in.ofTheSpecBefore(former)
	}
	return in.stillReported(v1beta1.WebsiteSynced, in.anyUndecided())
}

// notPublished returns the reason why a pod cannot publish its desired commit.
func notPublished(website *v1beta1.Website, pod Pod, fixed string) *finding {
	switch {
	case !pod.Observed || !pod.Reachable || pod.IsTerminating || workload.HasEnded(pod.Pod):
		return nil
	case pod.PathNotFound:
		return pathNotFound(website, pod)
	case pod.Failure != "" && (fixed == "" || pod.Commit != fixed):
		return fetchFailure(website, pod.Observation)
	default:
		return nil
	}
}

// ofTheSpecBefore returns the reported finding for an outdated pod, with its generation: the current
// spec may name another Secret.
func (in *Input) ofTheSpecBefore(found *finding) *finding {
	before := in.reported(v1beta1.WebsiteSynced)
	if before == nil {
		return found
	}
	if probedReasons.Has(before.Reason) {
		found.reason, found.message = before.Reason, before.Message
	}
	found.generation = before.ObservedGeneration
	return found
}

func isAboutFetching(reason string) bool {
	switch reason {
	case v1beta1.WebsiteReasonCommitPublished, v1beta1.WebsiteReasonPublishedWithWarnings,
		v1beta1.WebsiteReasonPodsUnreachable, v1beta1.WebsiteReasonObserving:
		return true
	default:
		return probedReasons.Has(reason)
	}
}

func commitPublished(in *Input) *finding {
	found := &finding{reason: v1beta1.WebsiteReasonCommitPublished,
		message: "all ready pods serve the commit of the last fetch"}
	if warnings := in.warnings(); len(warnings) > 0 {
		found.reason = v1beta1.WebsiteReasonPublishedWithWarnings
		found.message += ", but " + strings.Join(warnings, "; ")
	}
	if before := in.reported(v1beta1.WebsiteSynced); before != nil && !in.updated() {
		// The pods are outdated.
		found.generation = before.ObservedGeneration
	}
	return found
}

// warnings returns messages for the warnings of the releases of ready pods.
func (in *Input) warnings() (messages []string) {
	for _, pod := range in.Pods {
		for warning := range strings.FieldsSeq(pod.Warnings) {
			message := workload.Warnings[release.Warning(warning)]
			if pod.Ready && !slices.Contains(messages, message) {
				messages = append(messages, message)
			}
		}
	}
	slices.Sort(messages)
	return messages
}

// onlyFollowers limits a finder to Websites with a ready pod that follows a ref and for which the
// predicate holds.
func onlyFollowers(is func(*Pod) bool, find finder) finder {
	return only(func(in *Input) bool {
		ref := resources.Git(in.Website).Ref
		return (ref == nil || !requests.IsCommit(ref.Commit)) &&
			slices.ContainsFunc(in.Pods, func(pod Pod) bool { return pod.Ready && is(&pod) })
	}, find)
}
