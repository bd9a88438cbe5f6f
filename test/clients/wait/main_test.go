// Package wait tests when kubectl, kstatus and Helm take a Website for ready, and that
// kubectl, Flux and Argo CD find no difference in what they have applied, by their own
// programs and libraries. It is a module of its own, because Helm requires later versions
// of modules that the product links.
package wait

import (
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestMain(m *testing.M) { framework.Main(m, framework.Options{Name: "clients"}) }
