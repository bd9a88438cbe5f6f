package workload

import "github.com/kubesites/website-apiserver/pkg/agent/git"

// Observation is the result of probing a pod.
type Observation struct {
	// Reachable is false when the pod does not respond. The other fields are then from the last
	// response.
	Reachable bool
	// Commit is the commit that the pod serves; empty while it has none.
	Commit string
	// PathNotFound is true when the last fetched commit lacks the published path. Commit is then the
	// previous one, or empty.
	PathNotFound bool
	// Access is the reason why the pod rejects every request for the site.
	Access Access
	// Warnings are the known problems of the release of Commit, separated by spaces.
	Warnings string
	// Failure is the reason why the repository cannot be fetched, one of Failures, or empty.
	Failure git.Reason
	// FailedTwice is true when the last two fetches have failed.
	FailedTwice bool
	// FollowingUnknown is true while the fetch state is unknown: there was no fetch yet, or the pod
	// has no agent that reports it.
	FollowingUnknown bool
	// SyncUnreachable is true when nginx responds, but the agent does not.
	SyncUnreachable bool
	// Replaced are earlier commits with the content of Commit, separated by spaces.
	Replaced string
	// Subject and Author belong to Commit: the first line of its message, and the name of its author.
	Subject, Author string
	// Pin is the commit that the agent was requested to serve, requests.PinCurrent, or empty, and
	// Newest the last fetched commit.
	Pin, Newest string
	// Synced is the last request to sync that is complete: its fetch has ended and the result is
	// served.
	Synced string
	// Branches are the branches that may have previews, or nil before the first listing. The pointer
	// changes with the content.
	Branches *Branches
}

// Access is the reason why a pod rejects every request for the site.
type Access string

const (
	// AccessOpen means that the pod accepts requests.
	AccessOpen Access = ""
	// AccessSecretMissing means that the Secret with the users does not exist, or has none of the
	// keys.
	AccessSecretMissing Access = "SecretMissing"
	// AccessSecretInvalid means that the content of the Secret is invalid.
	AccessSecretInvalid Access = "SecretInvalid"
	// AccessUnsupportedHash means that the key htpasswd has a user without a hash that nginx
	// verifies.
	AccessUnsupportedHash Access = "SecretHashUnsupported"
)
