package podprobe

import (
	"testing"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

func TestClassify(t *testing.T) {
	for log, want := range map[string]workload.Failure{
		"fatal: couldn't find remote ref refs/heads/nope":                                                workload.FailureRefNotFound,
		"error: Server does not allow request for unadvertised object 1234":                              workload.FailureRefNotFound,
		"fatal: remote error: upload-pack: not our ref 1234":                                             workload.FailureRefNotFound,
		"fatal: could not read Username for 'https://github.com': terminal prompts disabled":             workload.FailureAuthentication,
		"fatal: Authentication failed for 'https://example.com/x.git/'":                                  workload.FailureAuthentication,
		"git@example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.": workload.FailureAuthentication,
		"Host key verification failed.\nfatal: Could not read from remote repository.":                   workload.FailureAuthentication,
		"fatal: unable to access 'https://x/': The requested URL returned error: 403":                    workload.FailureAuthentication,
		"remote: Not Found\nfatal: repository 'https://example.com/x.git/' not found":                    workload.FailureNotFound,
		"ERROR: Repository not found.\nfatal: Could not read from remote repository.":                    workload.FailureNotFound,
		"fatal: unable to access 'https://x/': The requested URL returned error: 404":                    workload.FailureNotFound,
		"fatal: unable to access 'https://x/': Could not resolve host: x":                                workload.FailureUnreachable,
		"ssh: connect to host x port 22: Connection refused":                                             workload.FailureUnreachable,
		"fatal: unable to access 'https://x/': server certificate verification failed.":                  workload.FailureUnreachable,
		"fatal: unable to access 'https://x/': The requested URL returned error: 503":                    workload.FailureUnreachable,
		`"error"="Run(git fetch ...): context deadline exceeded: { stdout: \"\", stderr: \"\" }"`:        workload.FailureUnreachable,
		"fatal: write error: No space left on device":                                                    workload.FailureStorage,
		"I1121 serving HTTP": workload.FailureUnknown,
		"":                   workload.FailureUnknown,
		"fatal: couldn't find remote ref x\nlater\nfatal: unable to access 'https://x/': Could not resolve host: x\nwill retry\n": workload.FailureUnreachable,
	} {
		if got := classify(log); got != want {
			t.Errorf("classify(%q) = %q, want %q", log, got, want)
		}
	}
}

func TestParseCounts(t *testing.T) {
	const body = `# HELP git_sync_count_total How many git syncs completed
# TYPE git_sync_count_total counter
git_sync_count_total{status="error"} 3
git_sync_count_total{status="noop"} 1e+01
git_sync_count_total{status="success"} 2 1700000000
git_sync_duration_seconds_count{status="error"} 99
`
	got, err := parseCounts([]byte(body))
	if want := (syncCounts{good: 12, failed: 3}); err != nil || got != want {
		t.Errorf("parseCounts() = %+v, %v, want %+v", got, err, want)
	}
	if _, err := parseCounts([]byte(`git_sync_count_total{status="error"} many`)); err == nil {
		t.Error("what is no number was taken for one")
	}
}

func TestParseCommit(t *testing.T) {
	for name, test := range map[string]struct {
		code    int
		body    string
		want    string
		wantErr bool
	}{
		"a commit":                  {200, commitA + "\n", commitA, false},
		"of SHA-256":                {200, commitB + "\n", commitB, false},
		"none yet":                  {503, "no commit\n", "", false},
		"a proxy that is not well":  {503, "upstream connect error", "", true},
		"a proxy that finds nobody": {502, "", "", true},
		"somebody else":             {200, "<html>hello</html>", "", true},
		"a redirect":                {302, "", "", true},
		"an abbreviated hash":       {200, "abcdef\n", "", true},
	} {
		got, err := parseCommit(test.code, []byte(test.body))
		if got != test.want || (err != nil) != test.wantErr {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
