package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
)

// waitTimeout bounds every wait that has no bound of its own. What is waited
// for takes seconds; the rest is for small machines under load.
const waitTimeout = 4 * time.Minute

// kubectlTimeout is the same for the waits of kubectl.
const kubectlTimeout = "--timeout=4m"

// config is of a user who may do everything.
func config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := cluster.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	// What the tests do on purpose draws warnings.
	config.WarningHandler = rest.NoWarnings{}
	return config
}

func kubernetesClient(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func websiteClient(t *testing.T) versioned.Interface {
	t.Helper()
	client, err := versioned.NewForConfig(config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// newNamespace creates a namespace for a test, in which Pod Security refuses
// what the restricted standard forbids. It is deleted when the test ends; of a
// test that failed, what was in it is kept first.
func newNamespace(t *testing.T) string {
	t.Helper()
	requireCluster(t)
	client := kubernetesClient(t)
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			keepNamespace(t, namespace.Name)
		}
		if err := client.CoreV1().Namespaces().Delete(context.Background(), namespace.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return namespace.Name
}

// waitFor polls until check returns nil.
func waitFor(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	waitWithin(t, waitTimeout, what, check)
}

// waitWithin is waitFor with a bound of its own.
func waitWithin(t *testing.T, timeout time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	last := fmt.Errorf("it was never looked")
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, timeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("waited %s until %s: %v", timeout, what, last)
	}
}

// kubectl runs kubectl as a user who may do everything and returns what it
// printed.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return kubectlWith(t, devcluster.KubectlOptions{}, args...)
}

func kubectlWith(t *testing.T, options devcluster.KubectlOptions, args ...string) string {
	t.Helper()
	stdout, stderr, err := cluster.KubectlWith(t.Context(), options, args...)
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	return stdout
}

// apply has kubectl apply an object.
func apply(t *testing.T, object any) {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	kubectlWith(t, devcluster.KubectlOptions{Stdin: strings.NewReader(string(data))}, "apply", "-f", "-")
}

// kubectlRefused has kubectl do something that the cluster must refuse, and
// returns why it did.
func kubectlRefused(t *testing.T, input string, args ...string) string {
	t.Helper()
	stdout, stderr, err := cluster.KubectlWith(t.Context(), devcluster.KubectlOptions{Stdin: strings.NewReader(input)}, args...)
	if err == nil {
		t.Fatalf("kubectl %s was not refused and printed %q", strings.Join(args, " "), stdout)
	}
	return stderr
}
