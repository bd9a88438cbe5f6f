// Package controller tests website-controller against a real kube-apiserver and
// kube-controller-manager: children, conditions, restarts, its number of writes and its
// permissions. Only the nodes are simulated.
//
// Tests that stop or kill a component run one after the other; all others run in parallel
// afterwards, each in namespaces of its own.
package controller

import (
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestMain(m *testing.M) {
	framework.Main(m, framework.Options{Name: "integration-controller", Check: checkPermissions})
}
