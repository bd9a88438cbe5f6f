package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
)

// waitTimeout bounds every wait. What is waited for takes at most a few
// seconds; the rest is for small machines under load.
const waitTimeout = 90 * time.Second

// clients are for one user.
type clients struct {
	kubernetes kubernetes.Interface
	websites   versioned.Interface
}

func newClients(t *testing.T, config *rest.Config) clients {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	// What the tests do on purpose draws warnings.
	config.WarningHandler = rest.NoWarnings{}
	kubernetes, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	websites, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients{kubernetes: kubernetes, websites: websites}
}

// admin returns clients of a user who may do everything.
func admin(t *testing.T) clients {
	t.Helper()
	config, err := cluster.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	return newClients(t, config)
}

// newNamespace creates a namespace that is deleted, with all it holds, when the
// test ends.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespaces := admin(t).kubernetes.CoreV1().Namespaces()
	namespace, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		err := namespaces.Delete(context.Background(), namespace.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %s: %v", namespace.Name, err)
		}
	})
	return namespace.Name
}

func namespaceCalled(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// newWebsite returns a valid Website called name, changed by tweaks.
func newWebsite(namespace, name string, tweaks ...func(*v1alpha1.Website)) *v1alpha1.Website {
	w := &v1alpha1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.WebsiteSpec{
			GitRepo:        "https://github.com/nevermosby/kubia-website-example.git",
			DeploymentName: name + "-website",
			Replicas:       ptr.To[int32](1),
		},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	return w
}

func withReplicas(n int32) func(*v1alpha1.Website) {
	return func(w *v1alpha1.Website) { w.Spec.Replicas = &n }
}

func withDeployment(name string) func(*v1alpha1.Website) {
	return func(w *v1alpha1.Website) { w.Spec.DeploymentName = name }
}

// mustCreate creates a Website as a user who may do everything.
func mustCreate(t *testing.T, w *v1alpha1.Website) *v1alpha1.Website {
	t.Helper()
	created, err := admin(t).websites.WebsiteV1alpha1().Websites(w.Namespace).Create(t.Context(), w, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating Website %s: %v", w.Name, err)
	}
	return created
}

// mustGet returns the Website as it is now.
func mustGet(t *testing.T, w *v1alpha1.Website) *v1alpha1.Website {
	t.Helper()
	current, err := admin(t).websites.WebsiteV1alpha1().Websites(w.Namespace).Get(t.Context(), w.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("getting Website %s: %v", w.Name, err)
	}
	return current
}

// waitFor waits until check returns nil, and reports its last error otherwise.
func waitFor(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, waitTimeout, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		// That time is up is no news; what was wrong before is.
		if err == nil || ctx.Err() == nil || last == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v (%v)", what, last, err)
	}
}

// waitAvailable waits until the Website reports n available replicas.
func waitAvailable(t *testing.T, w *v1alpha1.Website, n int32) {
	t.Helper()
	websites := admin(t).websites.WebsiteV1alpha1().Websites(w.Namespace)
	waitFor(t, fmt.Sprintf("Website %s has %d available replicas", w.Name, n), func(ctx context.Context) error {
		current, err := websites.Get(ctx, w.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := current.Status.AvailableReplicas; got != n {
			return fmt.Errorf("availableReplicas = %d", got)
		}
		return nil
	})
}

// kubectl runs kubectl as a user who may do everything and returns what it
// printed. The test fails if the command does.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := cluster.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return stdout
}

// stdin gives kubectl a manifest for "-f -".
func stdin(input string) devcluster.KubectlOptions {
	return devcluster.KubectlOptions{Stdin: strings.NewReader(input)}
}

// kubectlRefused runs a kubectl command that must fail and returns what it
// printed to stderr, which is what the user sees.
func kubectlRefused(t *testing.T, input string, args ...string) string {
	t.Helper()
	stdout, stderr, err := cluster.KubectlWith(t.Context(), stdin(input), args...)
	if err == nil {
		t.Fatalf("kubectl %s succeeded, want an error; it printed:\n%s", strings.Join(args, " "), stdout)
	}
	return stderr
}

// example is the manifest that existed before this project and must go on
// working unchanged.
var example = filepath.Join("..", "..", "artifacts", "examples", "kubia.yaml")

// deleteInTheEnd deletes what the cluster would keep after the test, whose own
// context has ended by then.
func deleteInTheEnd(t *testing.T, client interface {
	Delete(context.Context, string, metav1.DeleteOptions) error
}, name string) {
	t.Helper()
	t.Cleanup(func() {
		if err := client.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
