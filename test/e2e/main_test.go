// Package e2e tests Websites as their visitors and owners meet them: real pods
// on a real node serve real git repositories, and whatever happens to
// repository, pods or node, no visitor sees an error that could be avoided or
// a page made of two commits.
//
// Where a machine cannot offer a real node, every test is skipped with the
// reason. Tests that stop a part of the node run one after the other; all
// others run in parallel afterwards, each in a namespace of its own in which
// the restricted Pod Security Standard is enforced.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

const (
	// startTimeout includes building the Kubernetes programs and the images
	// where they are not in the cache yet.
	startTimeout = 30 * time.Minute
	stopTimeout  = 10 * time.Minute
)

// artifacts is what a run leaves for a reader: screenshots, and logs of
// failures.
var artifacts = filepath.Join("..", "..", "_artifacts", "e2e")

var (
	// cluster is the one that all tests share, or nil if this machine cannot
	// offer it.
	cluster *devcluster.Cluster
	// unsuitable is what this machine lacks.
	unsuitable error
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "end-to-end tests: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if err := os.RemoveAll(artifacts); err != nil {
		return 1, err
	}
	// A folder of our own: what a start that failed has left goes as well.
	dir, err := os.MkdirTemp("", "website-e2e-")
	if err != nil {
		return 1, err
	}
	before, err := observeHost()
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cluster, err = devcluster.Up(ctx, devcluster.Options{Dir: dir, Node: devcluster.NodeReal, Progress: os.Stderr})
	switch {
	case errors.Is(err, devcluster.ErrUnsuitable):
		unsuitable = err
		fmt.Fprintf(os.Stderr, "end-to-end tests are skipped: %v\n", err)
	case err == nil:
		err = before.cluster(dir)
	}
	if err != nil && unsuitable == nil {
		return 1, errors.Join(err, keepProcessLogs(dir), remove(dir))
	}
	code = m.Run()
	if cluster != nil && code != 0 {
		if err := keepProcessLogs(dir); err != nil {
			fmt.Fprintf(os.Stderr, "keeping the components' logs: %v\n", err)
		}
	}
	if err := remove(dir); err != nil {
		return 1, err
	}
	if cluster == nil {
		return code, nil
	}
	// With all the pods that tests had, and had lost, nothing may be left.
	if err := before.restored(context.Background()); err != nil {
		return 1, fmt.Errorf("the cluster has left something behind: %w", err)
	}
	return code, nil
}

// remove stops the cluster whose state is in dir, if any, and removes the state.
func remove(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if cluster != nil {
		if err := cluster.Stop(ctx); err != nil {
			return err
		}
	}
	if err := devcluster.Down(ctx, dir, func(string, ...any) {}); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// requireCluster skips a test where there is none.
func requireCluster(t *testing.T) {
	t.Helper()
	if unsuitable != nil {
		t.Skip(unsuitable)
	}
}
