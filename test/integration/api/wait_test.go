package api

import (
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestKubectlWaits waits as scripts do: for a condition, and for the deletion.
func TestKubectlWaits(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	framework.Kubectl(t, "wait", "-n", namespace, "--for=condition=Ready", "website/kubia", "--timeout=90s")
	framework.Kubectl(t, "wait", "-n", namespace, "--for=condition=Available", "website", "--all", "--timeout=90s")

	stderr := framework.KubectlRefused(t, "", "wait", "-n", namespace, "--for=condition=Available=False", "website/kubia",
		"--timeout=100ms")
	if !strings.Contains(stderr, "timed out waiting for the condition on websites/kubia") {
		t.Errorf("kubectl printed %q, want that it gave up", stderr)
	}
	framework.Kubectl(t, "delete", "website", "kubia", "-n", namespace, "--wait=false")
	framework.Kubectl(t, "wait", "-n", namespace, "--for=delete", "website/kubia", "--timeout=90s")
}
