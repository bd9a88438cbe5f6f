// Package upgrade tests that a cluster moves from the previous release to this checkout, and
// back, one process at a time and under load.
package upgrade

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
