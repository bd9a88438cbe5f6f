package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples sends every manifest that the documents show: it is accepted as it
// is, without a warning but that of the deprecated version.
func TestExamples(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	manifests, err := filepath.Glob(filepath.Join(filepath.Dir(example), "*.yaml"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("examples = %v (%v), want some", manifests, err)
	}
	for _, manifest := range manifests {
		t.Run(filepath.Base(manifest), func(t *testing.T) {
			stdout, stderr, err := cluster.Kubectl(t.Context(), "apply", "-n", namespace, "--dry-run=server", "--validate=strict", "-f", manifest)
			if err != nil || !strings.Contains(stdout, "website.mycontroller.nevermosby.io/") {
				t.Errorf("kubectl apply: %v\n%s%s", err, stdout, stderr)
			}
			for line := range strings.Lines(stderr) {
				if !strings.Contains(line, "v1alpha1 Website is deprecated") {
					t.Errorf("kubectl warns: %s", line)
				}
			}
		})
	}
}
