// Package wait tests when kubectl, kstatus and Helm regard a Website as ready, and that
// kubectl, Flux and Argo CD find no difference after they have applied it, by their own
// programs and libraries. It is a module of its own, because Helm requires later versions
// of modules that the product links.
package wait

import (
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestMain(m *testing.M) { framework.Main(m, framework.Options{Name: "clients"}) }
