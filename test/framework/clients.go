package framework

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	typed "github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned/typed/website/v1beta1"
)

// Clients are the clients of one user.
type Clients struct {
	Kubernetes kubernetes.Interface
	Websites   versioned.Interface
}

// NewClients returns clients without a rate limit.
func NewClients(t *testing.T, config *rest.Config) Clients {
	t.Helper()
	config = unlimited(config)
	kubernetes, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	websites, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return Clients{Kubernetes: kubernetes, Websites: websites}
}

// Admin returns clients of the administrator, a user with all permissions.
func Admin(t *testing.T) Clients {
	t.Helper()
	return NewClients(t, AdminConfig(t))
}

// AdminConfig is the configuration of the clients of Admin. It skips the test on a machine
// that cannot run the cluster.
func AdminConfig(t *testing.T) *rest.Config {
	t.Helper()
	RequireCluster(t)
	config := Cluster.AdminConfig()
	return unlimited(config)
}

func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	if config.WarningHandler == nil {
		// Tests provoke warnings on purpose.
		config.WarningHandler = rest.NoWarnings{}
	}
	return config
}

// Websites is the client of v1beta1 for a namespace.
func Websites(t *testing.T, namespace string) typed.WebsiteInterface {
	t.Helper()
	return Admin(t).Websites.WebsiteV1beta1().Websites(namespace)
}

// WriteKubeconfig writes a client configuration as a file.
func WriteKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := devcluster.WriteKubeconfig(path, config); err != nil {
		t.Fatal(err)
	}
	return path
}
