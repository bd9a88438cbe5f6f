package podprobe

import (
	"encoding/json"
	"strings"
	"testing"
	"unsafe"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

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
		"a proxy without a backend": {502, "", "", true},
		"another server":            {200, "<html>hello</html>", "", true},
		"a redirect":                {302, "", "", true},
		"an abbreviated hash":       {200, "abcdef\n", "", true},
	} {
		got, err := parseCommit(test.code, []byte(test.body))
		if got != test.want || (err != nil) != test.wantErr {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestPrintableIsACopy: a printed text does not keep the whole response of a pod in memory.
func TestPrintableIsACopy(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"short":                    {"a commit", "a commit"},
		"long":                     {strings.Repeat("a", maxBody), strings.Repeat("a", 20)},
		"with spaces":              {strings.Repeat(" ", 10) + "a" + strings.Repeat(" ", maxBody), "a"},
		"with control characters":  {"a\x1b[0m" + strings.Repeat("b", maxBody), "a[0m" + strings.Repeat("b", 16)},
		"cut within a wide letter": {strings.Repeat("é", maxBody), strings.Repeat("é", 10)},
	} {
		got := release.Printable(test.text, 20)
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		begin, end := uintptr(unsafe.Pointer(unsafe.StringData(test.text))), uintptr(len(test.text))
		if at := uintptr(unsafe.Pointer(unsafe.StringData(got))); at >= begin && at < begin+end {
			t.Errorf("%s: it is a part of the answer", name)
		}
	}
}

// TestAccessOfHostilePod: a compromised pod can respond with anything, and the status shows its
// access problem.
func TestAccessOfHostilePod(t *testing.T) {
	for answered, want := range map[access.Problem]workload.Access{
		"":                            workload.AccessOpen,
		access.ProblemMissing:         workload.AccessSecretMissing,
		access.ProblemInvalid:         workload.AccessSecretInvalid,
		access.ProblemUnsupportedHash: workload.AccessUnsupportedHash,
		"the password is x":           workload.AccessOpen,
	} {
		status := statusOf(commitA)
		status.Access = answered
		body, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		a, err := parseStatus(body)
		if err != nil || a.Access != want {
			t.Errorf("%q becomes %q, %v, want %q", answered, a.Access, err, want)
		}
		if s := (state{Observation: a.Observation, probed: true}); s.isUnhealthy() != (want != workload.AccessOpen) {
			t.Errorf("%q: isUnhealthy() is %t", answered, s.isUnhealthy())
		}
	}
}

// TestWarningsOfHostilePod: only warnings of the API get into a status, each once.
func TestWarningsOfHostilePod(t *testing.T) {
	status := statusOf(commitA)
	status.Warnings = []release.Warning{"x", release.WarningSubmodules, release.WarningIndexMissing, "a b",
		release.WarningSubmodules}
	body, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := parseStatus(body); err != nil || a.Warnings != "IndexMissing SubmodulesMissing" {
		t.Errorf("warnings %q, %v", a.Warnings, err)
	}
}
