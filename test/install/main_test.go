// Package install tests the manifests of artifacts as administrators use them: on a real
// node of a cluster without any object of the product, with the images of "make images".
package install

import (
	"testing"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

func TestMain(m *testing.M) {
	framework.Main(m, framework.Options{
		Name:    "install",
		Cluster: &devcluster.Options{Node: devcluster.NodeReal, WithoutProduct: true},
	})
}
