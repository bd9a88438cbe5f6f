package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// artifact returns the path of a file that a test keeps for debugging.
func artifact(t *testing.T, name string) string {
	t.Helper()
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(artifacts, name)
}

// keepNamespace saves kubectl's output for a namespace: the Website and its
// children, events, and the logs of the containers.
func keepNamespace(t *testing.T, namespace string) {
	t.Helper()
	dir := artifact(t, strings.ReplaceAll(t.Name(), "/", "_")+"-"+namespace)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Error(err)
		return
	}
	for name, args := range map[string][]string{
		"objects.yaml": {"get", "websites,deployments,replicasets,services,configmaps,poddisruptionbudgets", "--output=yaml"},
		"pods.txt":     {"describe", "pods"},
		"events.txt":   {"get", "events", "--sort-by=.lastTimestamp"},
		"pods.log": {"logs", "--selector=app=website-nginx", "--all-containers", "--prefix", "--tail=2000",
			"--ignore-errors"},
		"previous.log": {"logs", "--selector=app=website-nginx", "--all-containers", "--prefix", "--tail=2000",
			"--ignore-errors", "--previous"},
	} {
		stdout, stderr, err := framework.Cluster.Kubectl(context.Background(), append(args, "--namespace="+namespace)...)
		if err != nil {
			stdout += "\n" + err.Error() + ": " + stderr
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(stdout), 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Logf("the objects and logs of namespace %s are in %s", namespace, dir)
}
