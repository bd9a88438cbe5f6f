package status

import (
	"maps"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// TestFailureMessages: each message names a remedy with the field, and contains no output of a
// program.
func TestFailureMessages(t *testing.T) {
	withSecret := func(website *v1beta1.Website) {
		website.Spec.Source.Git.SecretRef = &v1beta1.SecretReference{Name: "credentials"}
	}
	pinned := func(website *v1beta1.Website) { website.Spec.Pin = &v1beta1.WebsitePin{Commit: commitB} }
	untested := maps.Clone(workload.Failures)
	for name, test := range map[string]struct {
		failure      git.Reason
		tweak        func(*v1beta1.Website)
		reason, want string
	}{
		"no credentials": {git.ReasonAuthentication, nil, "AuthenticationFailed",
			"spec.source.git.secretRef to a Secret"},
		"wrong credentials": {git.ReasonAuthentication, withSecret, "AuthenticationFailed",
			`Secret "credentials" of spec.source.git.secretRef`},
		"no PEM":              {git.ReasonCAInvalid, nil, "CAInvalid", "spec.source.git.caRef"},
		"no bundle":           {git.ReasonCAMissing, nil, "CAMissing", "spec.source.git.caRef"},
		"self-signed":         {git.ReasonCertificate, nil, "RepositoryCertificateInvalid", "spec.source.git.caRef"},
		"file name":           {git.ReasonCommitInvalid, nil, "CommitInvalid", "rename the file"},
		"commit":              {git.ReasonCommitRefused, nil, "CommitRefused", "correct the commit"},
		"pin":                 {git.ReasonCommitRefused, pinned, "CommitRefused", commitB + " of spec.pin"},
		"pin and no such ref": {git.ReasonRefNotFound, pinned, "CommitRefused", commitB + " of spec.pin"},
		"no password": {git.ReasonCredentialsMissing, withSecret, "CredentialsMissing",
			`Secret "credentials" of spec.source.git.secretRef`},
		"redirect to http": {git.ReasonDowngrade, nil, "ProtocolRefused", "use https or ssh"},
		"no commits":       {git.ReasonEmpty, nil, "RepositoryEmpty", "push one"},
		"HEAD":             {git.ReasonHead, nil, "HeadNotFound", "spec.source.git.ref.branch"},
		"host key": {git.ReasonHostKey, withSecret, "HostKeyMismatch",
			`Secret "credentials" of spec.source.git.secretRef`},
		"no known_hosts": {git.ReasonKnownHosts, withSecret, "KnownHostsMissing",
			`Secret "credentials" of spec.source.git.secretRef`},
		"memory":               {git.ReasonMemory, nil, "SyncOutOfMemory", "spec.resources.sync"},
		"no repository":        {git.ReasonNotFound, nil, "RepositoryNotFound", "spec.source.git.repository"},
		"path":                 {git.ReasonPathNotFound, nil, "PathNotFound", "spec.source.path"},
		"ref":                  {git.ReasonRefNotFound, nil, "RefNotFound", "spec.source.git.ref"},
		"full":                 {git.ReasonStorageFull, nil, "StorageFull", "spec.storage.sizeLimit"},
		"submodule":            {git.ReasonSubmodule, nil, "SubmoduleFailing", "spec.source.git.submodules"},
		"submodule of another": {git.ReasonSubmodule, withSecret, "SubmoduleFailing", "spec.source.git.credentialScope"},
		"time":                 {git.ReasonTimedOut, nil, "RepositoryTimedOut", "spec.polling.timeoutSeconds"},
		"too large":            {git.ReasonTooLarge, nil, "RepositoryTooLarge", "spec.storage.sizeLimit"},
		"unknown":              {git.ReasonUnknown, nil, "SyncFailing", "--container git-sync"},
		"not known here":       {"Moon", nil, "SyncFailing", "--container git-sync"},
		"unreachable":          {git.ReasonUnreachable, nil, "RepositoryUnreachable", "spec.source.git.repository"},
		"login":                {git.ReasonWebPage, nil, "WebPageAnswered", "a web page answered"},
	} {
		website := newWebsite()
		if test.tweak != nil {
			test.tweak(website)
		}
		got := fetchFailure(website, workload.Observation{Failure: test.failure})
		if got.reason != test.reason || !strings.Contains(got.message, test.want) ||
			strings.Contains(got.message, "github.com") {
			t.Errorf("%s: %s: %q, want %s with %q", name, got.reason, got.message, test.reason, test.want)
		}
		if !got.transient || !IsFetchProblem(got.reason) {
			t.Errorf("%s: transient %t, fetch problem %t", name, got.transient, IsFetchProblem(got.reason))
		}
		delete(untested, test.failure)
	}
	if len(untested) > 0 {
		t.Errorf("not tested: %v", untested)
	}
}
