// Package integration tests website-apiserver and website-controller as users
// meet them: built programs, registered with a real kube-apiserver, storing in
// real etcds, with kube-controller-manager deleting what has lost its owner.
// Only the nodes are simulated.
//
// Tests that stop or kill a component run one after the other; all others run
// in parallel afterwards, each in namespaces of its own.
package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

// startTimeout includes building the Kubernetes programs where they are not
// in the cache yet.
const startTimeout = 30 * time.Minute

// externalEtcd is the production shape, an etcd cluster over mutual TLS, of the
// version that Kubernetes is released with. The other is the single-node one.
var externalEtcd = flag.Bool("external-etcd", false, "store Websites in an etcd of their own, over TLS, instead of the one inside website-apiserver")

// clusterDir saves a run of one test the start of a cluster.
var clusterDir = flag.String("cluster", "", "run in the development cluster of this state folder, such as .devcluster, and keep it: started by \"make up NODE=simulated\", or by the tests if there is none (relative to the checkout)")

// cluster is the one that all tests share: starting one takes longer than all
// they do with it.
var cluster *devcluster.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "integration tests: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	options := devcluster.Options{Node: devcluster.NodeSimulated, ExternalEtcd: *externalEtcd, Progress: os.Stderr}
	keep := *clusterDir != ""
	if keep {
		options.Detached, options.Dir = true, *clusterDir
		if !filepath.IsAbs(options.Dir) {
			options.Dir = filepath.Join("..", "..", options.Dir)
		}
	}
	if cluster, err = devcluster.Up(ctx, options); err != nil {
		return 1, err
	}
	// Its logs stay where they are, and tell of more than this run.
	if keep {
		return m.Run(), nil
	}
	if code = m.Run(); code == 0 {
		if err := checkPrivileges(); err != nil {
			fmt.Fprintf(os.Stderr, "FAIL: website-controller lacks rights, or has some that are neither used nor explained:\n%v\n", err)
			code = 1
		}
	}
	if code != 0 {
		if err := keepLogs(); err != nil {
			fmt.Fprintf(os.Stderr, "keeping the components' logs: %v\n", err)
		}
	}
	if err := cluster.Stop(context.Background()); err != nil {
		return 1, fmt.Errorf("stopping the cluster: %w", err)
	}
	return code, nil
}

// keepLogs copies the components' logs out of the folder that goes away with
// the cluster.
func keepLogs() error {
	kept := filepath.Join("..", "..", "_artifacts", "integration")
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	for _, name := range cluster.Processes() {
		data, err := os.ReadFile(cluster.Process(name).LogFile())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(kept, name+".log"), data, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "the components' logs are in _artifacts/integration")
	return nil
}
