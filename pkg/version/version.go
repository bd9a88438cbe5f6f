// Package version tells which version of the product a binary is.
//
// It stands apart from k8s.io/component-base/version on purpose: that one is
// the version of the Kubernetes libraries, from which feature gates and API
// emulation are derived, and must not be stamped with the product's version.
package version

import (
	"fmt"
	"runtime"
)

// Set by the linker; see the Makefile.
var (
	gitVersion = "v0.0.0-unstamped"
	gitCommit  = "unknown"
)

// GitVersion returns the product's version as a semantic version with a leading "v".
func GitVersion() string { return gitVersion }

// String returns the version, the commit and the Go version and platform of
// the build, as printed by --version.
func String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s/%s)", gitVersion, gitCommit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
