package images

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const versionPackage = "github.com/kubesites/website-apiserver/pkg/version"

// Platform is an operating system and an architecture.
type Platform struct{ OS, Arch string }

// ParsePlatform parses OS/ARCH.
func ParsePlatform(s string) (Platform, error) {
	system, arch, ok := strings.Cut(s, "/")
	if !ok || system != "linux" || arch == "" {
		return Platform{}, fmt.Errorf("platform %q: must be linux/ARCH, as in linux/arm64", s)
	}
	return Platform{system, arch}, nil
}

// String returns OS/ARCH.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// compile builds a program for a platform. The result does not depend on this
// machine, such as on paths and settings of the user.
func (o Options) compile(ctx context.Context, program Program, platform Platform, out string) error {
	flags := fmt.Sprintf("-s -w -buildid= -X %[1]s.gitVersion=%[2]s -X %[1]s.gitCommit=%[3]s", versionPackage,
		o.Version, o.Commit)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags="+flags,
		"-o="+out, program.Package)
	cmd.Dir = o.RepoDir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Arch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=",
		"GOGC=400") // The compiler takes a fifth less CPU time.
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s for %s: %w: %s", program.Name, platform, err, strings.TrimSpace(stderr.String()))
	}
	return nil
}
