package upgrade

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// programs are those of one release.
type programs struct{ server, controller string }

// buildCurrent builds the programs of this checkout.
func buildCurrent(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	built := programs{filepath.Join(dir, "website-apiserver"), filepath.Join(dir, "website-controller")}
	for out, source := range map[string]string{built.server: "./cmd/apiserver", built.controller: "./cmd/controller"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", out, source)
		cmd.Dir, cmd.Env = framework.Path(), append(os.Environ(), "CGO_ENABLED=0")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", source, err, output)
		}
	}
	return built
}
