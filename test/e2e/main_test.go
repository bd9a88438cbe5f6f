// Package e2e tests Websites as their visitors and owners meet them: real pods
// on a real node serve real git repositories, and whatever happens to
// repository, pods or node, no visitor sees an error that could be avoided or
// a page made of two commits.
//
// On a machine that cannot run a real node, every test is skipped with the
// reason. Tests that stop a part of the node run one after the other; all
// others run in parallel afterwards, each in a namespace of its own in which
// the restricted Pod Security Standard is enforced.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

// artifacts is what a run leaves for a reader: screenshots, and logs of
// failures.
var artifacts = framework.Path("_artifacts", "e2e")

// nodeDisk is what all pods together may request of the disk. It is small, so that requests
// that are not counted, or too large, show.
const nodeDisk = 32 << 30

func TestMain(m *testing.M) {
	before, err := observeHost()
	if err != nil {
		fmt.Fprintf(os.Stderr, "end-to-end tests: %v\n", err)
		os.Exit(1)
	}
	framework.Main(m, framework.Options{
		Name:    "e2e",
		Cluster: &devcluster.Options{Node: devcluster.NodeReal, NodeDisk: nodeDisk, Gateway: true},
		Started: func() error { return before.cluster(framework.Cluster.Dir()) },
		// With all the pods that tests had, and had lost, nothing may be left.
		Stopped: func() error {
			if err := before.restored(context.Background()); err != nil {
				return fmt.Errorf("the cluster has left something behind: %w", err)
			}
			return nil
		},
	})
}
