// Package faults tests that website-controller reaches the same final state whatever fault it
// meets: every call to the API server fails once before and once after it took effect, and is once
// the last call of a controller that crashes; watches are delayed, frozen, broken and expired.
//
// The controller runs inside the test, with the clients and flags of the program but a transport
// that counts and fails calls (app.Instruments), as its own ServiceAccount, against a real
// kube-apiserver, website-apiserver and kube-controller-manager. One controller meets all faults of
// a batch of namespaces, one in each. Faults that would affect every namespace, such as failing
// lists and watches, and some faults of a batch, also meet a controller of a single namespace.
package faults

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	"github.com/kubesites/website-apiserver/test/framework"
)

// waitTimeout bounds every wait. Most take seconds; the rest is for small machines under load.
const waitTimeout = 4 * time.Minute

// These are the administrator's clients.
var (
	kube     kubernetes.Interface
	websites versioned.Interface
	// kubeconfig is the kubeconfig of the controller's ServiceAccount.
	kubeconfig string
)

func TestMain(m *testing.M) {
	// All controllers log into one stream. The message of a failed test lists its own calls instead.
	klog.SetLogger(logr.Discard())
	framework.Main(m, framework.Options{
		Name:    "faults",
		Cluster: &devcluster.Options{Node: devcluster.NodeSimulated, WithoutController: true},
		Started: started,
	})
}

func started() (err error) {
	if err := parallel(); err != nil {
		return err
	}
	kubeconfig = filepath.Join(framework.Cluster.Dir(), "controller.kubeconfig")
	if err := framework.Cluster.WriteKubeconfig(kubeconfig, framework.ControllerUser,
		"system:serviceaccounts", "system:serviceaccounts:website-system"); err != nil {
		return err
	}
	config := framework.Cluster.AdminConfig()
	if kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	websites, err = versioned.NewForConfig(config)
	return err
}

// parallel runs more tests at once than there are processors, unless the command line sets the
// number: they mostly wait.
func parallel() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", "16")
}
