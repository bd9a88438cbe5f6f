package framework

import (
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

// Kubectl runs kubectl as the administrator and returns its output. The test fails if the
// command does.
func Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return KubectlWith(t, devcluster.KubectlOptions{}, args...)
}

// KubectlWith is Kubectl with options.
func KubectlWith(t *testing.T, options devcluster.KubectlOptions, args ...string) string {
	t.Helper()
	stdout, stderr, err := Cluster.KubectlWith(t.Context(), options, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return stdout
}

// Stdin gives kubectl a manifest for "-f -".
func Stdin(input string) devcluster.KubectlOptions {
	return devcluster.KubectlOptions{Stdin: strings.NewReader(input)}
}

// KubectlRefused runs a kubectl command that must fail and returns its stderr, which the
// user reads.
func KubectlRefused(t *testing.T, input string, args ...string) string {
	t.Helper()
	stdout, stderr, err := Cluster.KubectlWith(t.Context(), Stdin(input), args...)
	if err == nil {
		t.Fatalf("kubectl %s succeeded, want an error; it printed:\n%s", strings.Join(args, " "), stdout)
	}
	return stderr
}
