package api

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestExamples applies every manifest of the documentation twice: it is accepted without a warning
// except for the deprecated version, and unchanged the second time. kubectl sends a list as a
// whole, so the examples set all fields of list items that have defaults.
func TestExamples(t *testing.T) {
	t.Parallel()
	framework.WaitForOpenAPI(t)
	namespace := framework.NewNamespace(t)
	manifests, err := filepath.Glob(filepath.Join(filepath.Dir(framework.Example), "*.yaml"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("examples = %v (%v), want some", manifests, err)
	}
	args := []string{"apply", "-n", namespace}
	for _, manifest := range manifests {
		args = append(args, "-f", manifest)
	}
	stdout, stderr, err := framework.Cluster.Kubectl(t.Context(), append(args, "--dry-run=server", "--validate=strict")...)
	if got := strings.Count(stdout, "website.mycontroller.nevermosby.io/"); err != nil || got != len(manifests) {
		t.Errorf("kubectl apply of %d manifests: %v\n%s%s", len(manifests), err, stdout, stderr)
	}
	for line := range strings.Lines(stderr) {
		if !strings.Contains(line, "v1alpha1 Website is deprecated") {
			t.Errorf("kubectl warns: %s", line)
		}
	}
	framework.Kubectl(t, args...)
	for line := range strings.Lines(framework.Kubectl(t, args...)) {
		if strings.HasPrefix(line, "website.") && !strings.HasSuffix(line, " unchanged\n") {
			t.Errorf("kubectl apply printed %q, want unchanged", line)
		}
	}
}
