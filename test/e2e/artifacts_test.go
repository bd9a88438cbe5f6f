package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// artifact is the path of a file that a test leaves for a reader.
func artifact(t *testing.T, name string) string {
	t.Helper()
	if err := os.MkdirAll(artifacts, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(artifacts, name)
}

// keepProcessLogs copies the components' logs out of the folder that goes away
// with the cluster.
func keepProcessLogs(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "logs", "*.log"))
	if err != nil {
		return err
	}
	kept := filepath.Join(artifacts, "logs")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	var failures []error
	for _, log := range logs {
		data, err := os.ReadFile(log)
		failures = append(failures, err, os.WriteFile(filepath.Join(kept, filepath.Base(log)), data, 0o644))
	}
	return errors.Join(failures...)
}

// keepNamespace keeps what kubectl says about a namespace: the Website and its
// children, what happened to them, and what the containers wrote.
func keepNamespace(t *testing.T, namespace string) {
	t.Helper()
	folder := artifact(t, strings.ReplaceAll(t.Name(), "/", "_")+"-"+namespace)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Error(err)
		return
	}
	for name, args := range map[string][]string{
		"objects.yaml": {"get", "websites,deployments,replicasets,services,configmaps,poddisruptionbudgets", "--output=yaml"},
		"pods.txt":     {"describe", "pods"},
		"events.txt":   {"get", "events", "--sort-by=.lastTimestamp"},
		"pods.log":     {"logs", "--selector=app=website-nginx", "--all-containers", "--prefix", "--tail=2000", "--ignore-errors"},
		"previous.log": {"logs", "--selector=app=website-nginx", "--all-containers", "--prefix", "--tail=2000", "--ignore-errors", "--previous"},
	} {
		stdout, stderr, err := cluster.Kubectl(context.Background(), append(args, "--namespace="+namespace)...)
		if err != nil {
			stdout += "\n" + err.Error() + ": " + stderr
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(stdout), 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Logf("what was in namespace %s is kept in %s", namespace, folder)
}
