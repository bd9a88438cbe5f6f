// Package faults tests that website-controller comes to the same end whatever
// happens to it on the way: every call of its to the API server is made to fail,
// before and after it took effect, and every call is the last one of a controller
// that crashes; watches are delayed, frozen, broken and expired.
//
// The controller runs inside the test, with the clients and flags of the program
// but a transport that counts and disturbs (app.Instruments), as its own
// ServiceAccount, against a real kube-apiserver, website-apiserver and
// kube-controller-manager. Many run at once, each in a namespace of its own.
package faults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
)

const (
	// startTimeout includes building the Kubernetes programs where they are not
	// in the cache yet.
	startTimeout = 30 * time.Minute
	// waitTimeout bounds every wait. What is waited for takes seconds; the rest
	// is for small machines under load.
	waitTimeout = time.Minute
)

// The cluster that all tests share, and clients of a user who may do everything.
var (
	cluster  *devcluster.Cluster
	kube     kubernetes.Interface
	websites versioned.Interface
	// kubeconfig is that of the controller's ServiceAccount.
	kubeconfig string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "fault tests: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	flag.Parse()
	if err := parallel(); err != nil {
		return 1, err
	}
	// Hundreds of controllers log into one stream; what a failed test needs of
	// them is in its message.
	klog.SetLogger(logr.Discard())

	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cluster, err = devcluster.Up(ctx, devcluster.Options{Node: devcluster.NodeSimulated, WithoutController: true, Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := cluster.Stop(context.Background()); stopErr != nil {
			code, err = 1, fmt.Errorf("stopping the cluster: %w", stopErr)
		}
	}()
	folder, err := os.MkdirTemp("", "faults-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder)
	kubeconfig = filepath.Join(folder, "kubeconfig")
	if err := cluster.WriteKubeconfig(kubeconfig, "system:serviceaccount:website-system:website-controller",
		"system:serviceaccounts", "system:serviceaccounts:website-system"); err != nil {
		return 1, err
	}
	config, err := cluster.AdminConfig()
	if err != nil {
		return 1, err
	}
	if kube, err = kubernetes.NewForConfig(config); err != nil {
		return 1, err
	}
	if websites, err = versioned.NewForConfig(config); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// parallel has more tests run at once than there are processors, unless the
// command line says how many: they mostly wait.
func parallel() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", "16")
}
