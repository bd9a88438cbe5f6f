// Package e2e tests Websites as visitors and owners use them: real pods on a
// real node serve real git repositories, and during failures of repository,
// pods or node, no visitor gets an avoidable error or a page with content of
// two commits.
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
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// artifacts is the directory of a run's screenshots and logs of failures.
var artifacts = framework.Path("_artifacts", "e2e")

// nodeDisk is the disk space that all pods together may request, in GiB. It is small, so that
// missing or too large requests show.
const nodeDisk = 32

// hostBefore is the state of this machine before the cluster was started.
var hostBefore *host

func TestMain(m *testing.M) {
	var err error
	if hostBefore, err = observeHost(); err != nil {
		fmt.Fprintf(os.Stderr, "end-to-end tests: %v\n", err)
		os.Exit(1)
	}
	framework.Main(m, framework.Options{
		Name:    "e2e",
		MakeUp:  []string{"GATEWAY=1", fmt.Sprintf("UP_FLAGS=--free-ports --node-disk=%dGi", nodeDisk)},
		Started: func() error { return hostBefore.cluster(framework.Cluster.Dir()) },
		// All resources of the tests' pods must be gone.
		Stopped: func() error {
			if _, err := os.Stat(framework.Cluster.Dir()); !os.IsNotExist(err) {
				return fmt.Errorf("make down has left %s: %v", framework.Cluster.Dir(), err)
			}
			if err := hostBefore.restored(context.Background()); err != nil {
				return fmt.Errorf("the cluster has left something behind: %w", err)
			}
			if output, err := framework.MakeDown(context.Background()); err != nil ||
				!strings.Contains(output, "nothing to stop") {
				return fmt.Errorf("a second make down printed %q: %v", output, err)
			}
			return nil
		},
	})
}
