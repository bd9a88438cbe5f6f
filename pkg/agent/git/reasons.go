package git

import (
	"regexp"
	"strings"
	"unicode"
)

// Reason says why an operation failed. Reasons are stable: the controller reads them.
type Reason string

// The reasons. messages explains them.
const (
	ReasonAuthentication     Reason = "AuthenticationFailed"
	ReasonCAInvalid          Reason = "CAInvalid"
	ReasonCAMissing          Reason = "CAMissing"
	ReasonCertificate        Reason = "CertificateInvalid"
	ReasonCommitInvalid      Reason = "CommitInvalid"
	ReasonCommitRefused      Reason = "CommitRefused"
	ReasonCredentialsMissing Reason = "CredentialsMissing"
	ReasonDowngrade          Reason = "ProtocolRefused"
	ReasonEmpty              Reason = "RepositoryEmpty"
	ReasonHead               Reason = "HeadNotFound"
	ReasonHostKey            Reason = "HostKeyMismatch"
	ReasonKnownHosts         Reason = "KnownHostsMissing"
	ReasonMemory             Reason = "Killed"
	ReasonNotFound           Reason = "RepositoryNotFound"
	ReasonPathNotFound       Reason = "PathNotFound"
	ReasonRefNotFound        Reason = "RefNotFound"
	ReasonStorageFull        Reason = "StorageFull"
	ReasonSubmodule          Reason = "SubmoduleFailed"
	ReasonTimedOut           Reason = "TimedOut"
	ReasonTooLarge           Reason = "TooLarge"
	ReasonUnknown            Reason = "SyncFailing"
	ReasonUnreachable        Reason = "RepositoryUnreachable"
	ReasonWebPage            Reason = "WebPage"

	// Those that follow have a remedy here, and are seen by a user only if that fails.

	// reasonDamaged is a repository on the disk that git cannot read.
	reasonDamaged Reason = "RepositoryDamaged"
	// reasonFormat is a remote with another object format.
	reasonFormat Reason = "ObjectFormatMismatch"
	// reasonNoShallow is a server without shallow fetches, reasonNoWant one that sends no object by its hash.
	reasonNoShallow, reasonNoWant Reason = "NoShallowFetches", "NoObjectsByHash"
	// reasonNoRoom is one of ReasonTooLarge and ReasonStorageFull: git does not say which.
	reasonNoRoom Reason = "NoRoom"
)

// messages tell the user the remedy.
var messages = map[Reason]string{
	ReasonAuthentication: "the server refuses the credentials, or requires some: check the Secret of " +
		"spec.source.git.secretRef",
	ReasonCAInvalid: "the bundle of spec.source.git.caRef has no PEM certificate: correct the ConfigMap " +
		"or Secret",
	ReasonCAMissing: "the bundle of spec.source.git.caRef does not exist: create the ConfigMap or Secret, " +
		"with the key",
	ReasonCertificate: "the server's certificate is not trusted: set spec.source.git.caRef to the CA that has " +
		"signed it, or renew it",
	ReasonCommitInvalid: "the commit has a file name that git does not check out: rename the file",
	ReasonCommitRefused: "the repository does not have this commit, or its server does not send it: correct the " +
		"commit, or follow a branch",
	ReasonCredentialsMissing: "the Secret of spec.source.git.secretRef lacks a key: add username and password, or " +
		"ssh-privatekey",
	ReasonDowngrade: "the address, or one that the server redirects to, has a transport that is not allowed: " +
		"use https or ssh",
	ReasonEmpty: "the repository has no commits: push one",
	ReasonHead: "HEAD of the repository names a branch that does not exist: set " +
		"spec.source.git.ref.branch, or change the default branch",
	ReasonHostKey: "the ssh server has none of the keys in known_hosts: correct the Secret of " +
		"spec.source.git.secretRef",
	ReasonKnownHosts: "the Secret of spec.source.git.secretRef has no known_hosts: add the keys of the ssh server",
	ReasonMemory:     "git ran out of memory: raise the memory limit of spec.resources.sync",
	ReasonNotFound: "the repository does not exist, or the credentials do not give access to it: correct " +
		"spec.source.git.repository",
	ReasonPathNotFound: "the commit has no such directory: correct spec.source.path",
	ReasonRefNotFound:  "the repository has no such branch or tag: correct spec.source.git.ref",
	ReasonStorageFull: "the volume is full, or the disk of its node: raise spec.storage.sizeLimit, or free " +
		"space on the node",
	ReasonSubmodule: "a submodule cannot be fetched: correct .gitmodules, or set " +
		"spec.source.git.submodules to None",
	ReasonTimedOut: "the fetch takes too long: raise spec.polling.timeoutSeconds, or make the " +
		"repository smaller",
	ReasonTooLarge: "the commit does not fit on the volume: raise spec.storage.sizeLimit, or make the " +
		"commit smaller",
	ReasonUnknown: "git failed",
	ReasonUnreachable: "the repository is unreachable: check spec.source.git.repository, and that the pod's " +
		"network reaches it",
	ReasonWebPage: "a web page answered in place of git, such as that of a login: correct " +
		"spec.source.git.repository, or set spec.source.git.secretRef",
	reasonDamaged:   "the repository on the volume is damaged: it is fetched again",
	reasonFormat:    "the repository has another object format",
	reasonNoRoom:    "a file cannot be written",
	reasonNoShallow: "the server has no shallow fetches",
	reasonNoWant:    "the server sends no objects by their hash",
}

// Error is the failure of an operation.
type Error struct {
	Reason Reason
	// Text is the end of git's error output, without addresses.
	Text string
	// Submodule is the path of the submodule that failed, if it was one, and Cause why.
	Submodule string
	Cause     Reason
	// TooMany is true if the commit has too many files, whatever space there is.
	TooMany bool

	err error
}

func (e *Error) Error() string {
	message := messages[e.Reason]
	if e.Submodule != "" {
		message += ": " + e.Submodule
		if e.Cause != ReasonUnknown {
			message += ": " + messages[e.Cause]
		}
	}
	if e.Text != "" {
		message += ": " + e.Text
	}
	return message
}

func (e *Error) Unwrap() error { return e.err }

func failure(reason Reason, text string) *Error { return wrap(reason, text, nil) }

func wrap(reason Reason, text string, err error) *Error {
	return &Error{Reason: reason, Text: publicText(text), err: err}
}

// phrase is a part of a message of git, ssh or curl, in lower case.
type phrase struct {
	text   string
	reason Reason
}

// localPhrases are about this pod. A server that has no space or memory says the same about itself.
var localPhrases = []phrase{
	{"no space left on device", ReasonStorageFull},
	{"disk quota exceeded", ReasonStorageFull},
	{"file too large", ReasonTooLarge},
	{"unable to write file", reasonNoRoom},
	// Of a server that sends files, a pack.
	{"curl_result = 23,", reasonNoRoom},
	{"out of memory", ReasonMemory},
	{"cannot allocate memory", ReasonMemory},
	{"died of signal 9", ReasonMemory},
	{"invalid path '", ReasonCommitInvalid},
	{"not a git repository: '", reasonDamaged},
	{"bad config line", reasonDamaged},
	{"too short to be a packfile", reasonDamaged},
	{"reference broken", reasonDamaged},
}

// phrases are about anything else. The first one that was printed decides: git adds general remarks to specific
// ones, so specific ones come first.
var phrases = []phrase{
	{"mismatched algorithms: client ", reasonFormat},
	{"does not support this repository's object format", reasonFormat},
	// A server without a protocol sends references only.
	{"bad revision '", reasonFormat},
	{"does not support shallow", reasonNoShallow},
	{"server does not allow request for", reasonNoWant},
	{"host key verification failed", ReasonHostKey},
	{"not our ref", ReasonCommitRefused},
	{"couldn't find remote ref", ReasonRefNotFound},
	{"invalid refspec", ReasonRefNotFound},
	{"could not read username", ReasonAuthentication},
	{"authentication failed", ReasonAuthentication},
	{"permission denied (", ReasonAuthentication},
	{"requested url returned error: 403", ReasonAuthentication},
	{"repository not found", ReasonNotFound},
	{"does not appear to be a git repository", ReasonNotFound},
	{"project you were looking for could not be found", ReasonNotFound},
	{"' not found", ReasonNotFound},
	{"unable to update url base from redirection", ReasonWebPage},
	{"not valid: is this a git repository?", ReasonWebPage},
	{"error setting certificate", ReasonCAInvalid},
	{"problem with the ssl ca cert", ReasonCAInvalid},
	{"server certificate verification failed", ReasonCertificate},
	{"certificate problem", ReasonCertificate},
	{"target host name", ReasonCertificate},
	{"\" not supported or disabled in libcurl", ReasonDowngrade},
	{"\" disabled", ReasonDowngrade},
	{"timeout, server", ReasonTimedOut},
	// git has ended before all of a pack had come, for a reason that none of these phrases names.
	{"failure writing output to destination", ReasonUnknown},
	{"rpc failed", ReasonUnreachable},
	{"could not resolve ", ReasonUnreachable},
	{"failed to connect to", ReasonUnreachable},
	{"connect to host", ReasonUnreachable},
	{"unable to access", ReasonUnreachable},
	{"early eof", ReasonUnreachable},
	{"hung up unexpectedly", ReasonUnreachable},
	{"connection closed by", ReasonUnreachable},
	{"connection reset by", ReasonUnreachable},
	{"could not read from remote repository", ReasonUnreachable},
}

var (
	// remoteLines come from the server.
	remoteLines = regexp.MustCompile(`(?m)^remote: .*$`)
	// addresses of repositories can contain any words, and credentials.
	addresses = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^\s'"]+|[^\s'"]+@[^\s'"]+`)
	// hosts matches host names that git and ssh print without an address, and IP addresses.
	hosts = regexp.MustCompile(`(?i)((?:could not resolve (?:host|hostname|proxy):?|failed to connect to|connect to ` +
		`host|known for|target host name) '?)[^\s':]+|` +
		`(closed by |reset by )\S+( port)|\b\d{1,3}(?:\.\d{1,3}){3}\b|\[?[0-9a-f]*(?::[0-9a-f]*){2,7}\]?`)
)

// classify returns the reason for an error output of git.
func classify(printed string) Reason {
	printed = strings.ToLower(addresses.ReplaceAllString(printed, "ADDRESS"))
	if reason := firstOf(localPhrases, remoteLines.ReplaceAllString(printed, "")); reason != ReasonUnknown {
		return reason
	}
	return firstOf(phrases, printed)
}

// matched is called with each phrase that decides. Tests replace it.
var matched = func(phrase) {}

func firstOf(phrases []phrase, printed string) Reason {
	for _, known := range phrases {
		if strings.Contains(printed, known.text) {
			matched(known)
			return known.reason
		}
	}
	return ReasonUnknown
}

// isLocal reports whether a reason is about this pod or the commit, and not about the server.
func isLocal(reason Reason) bool {
	switch reason {
	case ReasonStorageFull, ReasonTooLarge, ReasonMemory, ReasonTimedOut, ReasonCommitInvalid, reasonDamaged, reasonNoRoom:
		return true
	default:
		return false
	}
}

// maxText limits the text of an error.
const maxText = 500

// publicText returns the end of git's error output, without addresses and control characters.
func publicText(text string) string {
	text = addresses.ReplaceAllString(strings.ToValidUTF8(text, "?"), "ADDRESS")
	text = hosts.ReplaceAllString(text, "${1}${2}ADDRESS${3}")
	text = strings.Join(strings.FieldsFunc(text, unicode.IsControl), "; ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[len(text)-maxText:], "")
	}
	return text
}
