// Package framework is shared by tests against a development cluster: it starts the cluster and has
// clients, builders of objects, and waits.
package framework

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

const (
	// startTimeout includes building the Kubernetes programs and the images if they are
	// not in the cache yet.
	startTimeout = 30 * time.Minute
	stopTimeout  = 10 * time.Minute
)

var (
	store = flag.String("store", "", "where Websites are stored: embedded, in website-apiserver, or "+
		"external, in an etcd over mutual TLS (default: the package's own store)")
	gitSyncImageArchive = flag.String("git-sync-image-archive", "", "run the pods of a real node with the git-sync "+
		"image in this file, as \"docker save\" writes it (relative to the checkout)")
	nginxImageArchive = flag.String("nginx-image-archive", "",
		"run the pods of a real node with the nginx image in this file (relative to the checkout)")
	kubernetesVersion = flag.String("kubernetes-version", "", "run against a control plane of this version of "+
		"Kubernetes, such as v1.34.4, which is built first (default: the version in hack/kubernetes)")
	clusterDir = flag.String("cluster", "", "run in the development cluster of this state directory, such as "+
		".devcluster, which \"make up\" has started (relative to the checkout)")
)

// Cluster is the development cluster that Main has started or joined. All tests of a package share
// it, as its start takes longer than most tests. It is nil if this machine cannot run it: then
// RequireCluster skips the test.
var Cluster *devcluster.Cluster

// unsuitable names the requirement of the cluster that this machine lacks.
var unsuitable error

// Options describe the cluster of a package's tests.
type Options struct {
	// Name is the directory in _artifacts that keeps the logs of a failed run.
	Name string
	// Cluster are options of the cluster. Default: on simulated nodes, with Websites in an external etcd.
	// If they are set, -store is rejected.
	Cluster *devcluster.Options
	// MakeUp are variables of "make up", which starts the cluster on a real node if they are set.
	MakeUp []string
	// EmbeddedEtcd stores Websites in the etcd inside website-apiserver by default.
	EmbeddedEtcd bool
	// Started runs when the cluster has started, before the tests.
	Started func() error
	// Check runs after all tests have passed, in a cluster of their own. Its error fails
	// the run.
	Check func() error
	// Stopped runs after the cluster was removed. Its error fails the run.
	Stopped func() error
}

// Main runs the tests of a package in a development cluster, and exits. TestMain calls
// nothing else.
func Main(m *testing.M, options Options) {
	flag.Parse()
	selected, err := selected()
	code := 1
	switch {
	case err != nil:
	case selected:
		code, err = run(m, options)
	default:
		code = m.Run()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s tests: %v\n", options.Name, err)
		code = 1
	}
	os.Exit(code)
}

// selected reports whether the command line selects a test of this package. Without one, no cluster
// is needed.
func selected() (bool, error) {
	if flag.Lookup("test.list").Value.String() != "" {
		return false, nil
	}
	pattern := flag.Lookup("test.run").Value.String()
	if pattern == "" {
		return true, nil
	}
	pattern, _, _ = strings.Cut(pattern, "/")
	names, err := exec.Command(os.Args[0], "-test.list="+pattern).Output()
	if err != nil {
		return false, fmt.Errorf("listing the tests that match %q: %w", pattern, err)
	}
	return len(names) > 0, nil
}

// Joined reports whether the cluster existed before the tests, and stays.
func Joined() bool { return *clusterDir != "" }

// RequireCluster skips a test on a machine that cannot run the cluster.
func RequireCluster(t *testing.T) {
	t.Helper()
	if unsuitable != nil {
		t.Skip(unsuitable)
	}
}

func run(m *testing.M, options Options) (code int, err error) {
	if err := os.RemoveAll(Path("_artifacts", options.Name)); err != nil {
		return 1, err
	}
	if Joined() {
		return runJoined(m, options)
	}
	if options.MakeUp != nil {
		return runMakeUp(m, options)
	}
	up, err := clusterOptions(options)
	if err != nil {
		return 1, err
	}
	up.KubernetesVersion = *kubernetesVersion
	up.GitSyncImageArchive, up.NginxImageArchive = fromCheckout(*gitSyncImageArchive), fromCheckout(*nginxImageArchive)
	// A directory of its own is removed with everything that a failed start has left in it.
	if up.Dir, err = os.MkdirTemp("", "website-test-"); err != nil {
		return 1, err
	}
	defer removeAtInterrupt(up.Dir, up.Dir)()
	Cluster, err = start(up)
	if errors.Is(err, devcluster.ErrUnsuitable) {
		fmt.Fprintf(os.Stderr, "%s tests are skipped: %v\n", options.Name, err)
		unsuitable = err
		return m.Run(), remove(up.Dir)
	}
	if err == nil && options.Started != nil {
		err = options.Started()
	}
	if err == nil {
		code = m.Run()
	}
	if err == nil && code == 0 && options.Check != nil {
		err = options.Check()
	}
	if err != nil || code != 0 {
		err = errors.Join(err, keepLogs(options.Name, up.Dir))
	}
	err = errors.Join(err, remove(up.Dir))
	if err == nil && options.Stopped != nil {
		err = options.Stopped()
	}
	return code, err
}

// clusterOptions returns the options of the cluster that is started for a package.
func clusterOptions(options Options) (devcluster.Options, error) {
	if options.Cluster != nil {
		if *store != "" {
			return devcluster.Options{},
				errors.New("the tests of this package choose the store of their cluster: leave out -store")
		}
		return *options.Cluster, nil
	}
	external := !options.EmbeddedEtcd
	switch *store {
	case "":
	case "embedded", "external":
		external = *store == "external"
	default:
		return devcluster.Options{}, fmt.Errorf("-store=%s is unknown: use embedded or external", *store)
	}
	return devcluster.Options{Node: devcluster.NodeSimulated, ExternalEtcd: external}, nil
}

// runJoined keeps the cluster. Its logs stay in place, as they cover more than this run.
func runJoined(m *testing.M, options Options) (code int, err error) {
	if Cluster, err = devcluster.Join(fromCheckout(*clusterDir)); err != nil {
		return 1, err
	}
	before, err := takeInventory(context.Background())
	if err == nil && options.Started != nil {
		err = options.Started()
	}
	if err != nil {
		return 1, err
	}
	code = m.Run()
	if code == 0 && options.Check != nil {
		err = options.Check()
	}
	return code, errors.Join(err, requireNoLeaks(context.Background(), before))
}

// fromCheckout returns a path of the command line, which is relative to the checkout.
func fromCheckout(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return Path(path)
}

func start(options devcluster.Options) (*devcluster.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	options.Progress = os.Stderr
	return devcluster.Up(ctx, options)
}

// remove stops the cluster whose state is in dir, if any, and removes the state.
func remove(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if Cluster != nil {
		if err := Cluster.Stop(ctx); err != nil {
			return err
		}
	}
	if err := devcluster.Down(ctx, dir, func(string, ...any) {}); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// StartCluster starts a cluster on simulated nodes for one test, that is stopped when the
// test ends. If the test has failed, the logs are kept.
func StartCluster(t *testing.T, options devcluster.Options) *devcluster.Cluster {
	t.Helper()
	options.Node = devcluster.NodeSimulated
	cluster, err := start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			if err := errors.Join(cluster.Crash(), keepLogs(t.Name(), cluster.Dir())); err != nil {
				t.Error(err)
			}
		}
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// keepLogs copies the logs of the components and of the installation's pods out of the directory
// that is removed with the cluster.
func keepLogs(name, dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "logs", "*.log"))
	pods := filepath.Join(dir, "node", "pod-logs")
	ofPods, podsErr := filepath.Glob(filepath.Join(pods, SystemNamespace+"_*", "*", "*.log"))
	if err := errors.Join(err, podsErr); err != nil {
		return err
	}
	kept := Path("_artifacts", name, "logs")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	var failures []error
	for _, log := range append(logs, ofPods...) {
		to := filepath.Base(log)
		if relative, err := filepath.Rel(pods, log); err == nil && filepath.IsLocal(relative) {
			to = strings.ReplaceAll(relative, string(filepath.Separator), "_")
		}
		data, err := os.ReadFile(log)
		failures = append(failures, err, os.WriteFile(filepath.Join(kept, to), data, 0o644))
	}
	fmt.Fprintf(os.Stderr, "the components' logs are in _artifacts/%s/logs\n", name)
	return errors.Join(failures...)
}
