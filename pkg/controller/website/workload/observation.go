package workload

import "github.com/kubesites/website-apiserver/pkg/agent/git"

// Observation is what probing a pod has shown.
type Observation struct {
	// Reachable is false when the pod does not answer. The rest is then what it
	// answered last.
	Reachable bool
	// Commit is what the pod serves; empty while it has nothing.
	Commit string
	// PathNotFound is true when the last commit that the pod has fetched lacks the
	// published path. Commit is then the one before, or empty.
	PathNotFound bool
	// Access is why the pod rejects every request for the site.
	Access Access
	// Warnings are the known problems of the release of Commit, separated by spaces.
	Warnings string
	// Failure is why the repository cannot be fetched, one of Failures, or empty.
	Failure git.Reason
	// FailedTwice is true when the last two fetches have failed.
	FailedTwice bool
	// FollowingUnknown is true while it is not known whether fetching works: there was
	// no fetch yet, or the pod has no agent that knows.
	FollowingUnknown bool
	// SyncUnreachable is true when nginx answers, but the agent does not.
	SyncUnreachable bool
	// Replaced are earlier commits with the content of Commit, separated by spaces.
	Replaced string
	// Subject and Author are of Commit: the first line of its message, and a name.
	Subject, Author string
	// Pin is the commit that the agent was requested to serve whatever it fetches,
	// requests.PinCurrent, or empty, and Newest the one that it has fetched last.
	Pin, Newest string
	// Synced is the last request to sync whose fetch has ended, and of which nothing is left
	// to be served.
	Synced string
	// Branches are those that may have previews, or nil if none were listed. It is another
	// pointer if anything of it is different.
	Branches *Branches
}

// Access is why a pod rejects every request for the site.
type Access string

const (
	// AccessOpen means that it does not.
	AccessOpen Access = ""
	// AccessSecretMissing means that the Secret with the users does not exist, or has none of
	// the keys.
	AccessSecretMissing Access = "SecretMissing"
	// AccessSecretInvalid means that the Secret cannot be used.
	AccessSecretInvalid Access = "SecretInvalid"
	// AccessUnsupportedHash means that the key htpasswd has a user without a hash that nginx verifies.
	AccessUnsupportedHash Access = "SecretHashUnsupported"
)
