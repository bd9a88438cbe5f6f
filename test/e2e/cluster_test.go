package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// kubectlTimeout is framework.WaitTimeout for the waits of kubectl.
const kubectlTimeout = "--timeout=4m"

// newNamespace creates a namespace for a test that enforces the restricted Pod
// Security Standard. It is deleted when the test ends; if the test failed, its
// content is saved first.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := framework.NewNamespace(t, func(namespace *corev1.Namespace) {
		namespace.Labels = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	})
	t.Cleanup(func() {
		if t.Failed() {
			keepNamespace(t, namespace)
		}
	})
	return namespace
}

// apply has kubectl apply an object.
func apply(t *testing.T, object any) {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	write(t, string(data), "apply", "-f", "-")
}

// write runs a command of kubectl that may be repeated. On a machine that runs all tests, etcd may not answer for
// seconds: 503.
func write(t *testing.T, input string, args ...string) {
	t.Helper()
	repeatAt(t, metav1.StatusReasonServiceUnavailable, input, args...)
}

// repeatAt runs a command of kubectl until it does not fail for a reason, and returns its output.
func repeatAt(t *testing.T, reason metav1.StatusReason, input string, args ...string) (output string) {
	t.Helper()
	framework.WaitFor(t, "kubectl "+args[0]+" succeeds", func(ctx context.Context) (err error) {
		var stderr string
		output, stderr, err = framework.Cluster.KubectlWith(ctx, framework.Stdin(input), args...)
		if err != nil && !strings.Contains(stderr, fmt.Sprintf("(%s)", reason)) {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr)
		}
		return err
	})
	return output
}
