package workload

// Observation is what probing a pod has shown.
type Observation struct {
	// Reachable is false when the pod does not answer. The rest is then what it
	// answered last.
	Reachable bool
	// Commit is what the pod serves; empty while it has nothing.
	Commit string
	// PathNotFound is true when the published path is not in that commit.
	PathNotFound bool
	// Failure is why the repository cannot be fetched.
	Failure Failure
	// FollowingUnknown is true while it is not known whether fetching works: the
	// pod has been probed only once since a fetch failed and another worked, or the
	// cause of a failure is being looked up.
	FollowingUnknown bool
	// SyncUnreachable is true when the pod answers, but git-sync in it does not.
	SyncUnreachable bool
	// Eviction is why the kubelet has evicted the pod. It is empty for one that has
	// not ended, and when no event says why; nothing else is then known of it.
	Eviction string
}

// Failure is why a repository could not be fetched.
type Failure string

const (
	// FailureNone means that fetching works.
	FailureNone Failure = ""
	// FailureUnknown means that fetching fails and the log does not say why in
	// words that are known here.
	FailureUnknown Failure = "Unknown"
	// FailureUnreachable means that the host of the repository does not answer.
	FailureUnreachable Failure = "Unreachable"
	// FailureNotFound means that the host answers and has no such repository.
	FailureNotFound Failure = "NotFound"
	// FailureAuthentication means that the credentials are missing or refused.
	FailureAuthentication Failure = "Authentication"
	// FailureRefNotFound means that the repository lacks the branch, tag or
	// commit, or is empty.
	FailureRefNotFound Failure = "RefNotFound"
	// FailureStorage means that the volume of the pod is full.
	FailureStorage Failure = "Storage"
)
