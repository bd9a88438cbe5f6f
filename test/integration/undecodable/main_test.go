// Package undecodable damages a stored Website, in a cluster of its own: lists of all Websites fail
// until it is deleted.
package undecodable

import (
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestMain(m *testing.M) {
	framework.Main(m, framework.Options{Name: "integration-undecodable", EmbeddedEtcd: true})
}
