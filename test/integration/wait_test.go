package integration

import (
	"strings"
	"testing"
)

// TestKubectlWaits waits as scripts do: for a condition, and for the end.
func TestKubectlWaits(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	mustCreateBeta(t, namespace, "kubia")
	kubectl(t, "wait", "-n", namespace, "--for=condition=Ready", "website/kubia", "--timeout=90s")
	kubectl(t, "wait", "-n", namespace, "--for=condition=Available", "website", "--all", "--timeout=90s")

	stderr := kubectlRefused(t, "", "wait", "-n", namespace, "--for=condition=Available=False", "website/kubia", "--timeout=100ms")
	if !strings.Contains(stderr, "timed out waiting for the condition on websites/kubia") {
		t.Errorf("kubectl printed %q, want that it gave up", stderr)
	}
	kubectl(t, "delete", "website", "kubia", "-n", namespace, "--wait=false")
	kubectl(t, "wait", "-n", namespace, "--for=delete", "website/kubia", "--timeout=90s")
}
