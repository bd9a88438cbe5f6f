package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/kubesites/website-apiserver/pkg/controller/images"
)

// These modules contain programs for the development cluster only, relative to the checkout.
const (
	devclusterModule = "hack/devcluster"
	imagesModule     = "hack/images"
)

// productFlags have the linker write the version of the images into the programs of the product, without debugging
// information.
const productFlags = "-s -w -X github.com/kubesites/website-apiserver/pkg/version.gitVersion=" + images.Tag

// productSets are the programs of this repository, by the module they are built in.
var productSets = []programSet{
	{
		dir: devclusterModule, node: NodeReal,
		programs: []program{
			{devclusterCommand, "./cmd", 0},
			{pauseStandIn, "./pause-standin", 1},
		},
	},
	{dir: imagesModule, node: NodeReal, programs: []program{{imagesCommand, "./cmd", 3}}},
	{dir: ".", node: NodeReal, ldflags: productFlags, programs: []program{{websiteAgent, "./cmd/agent", 15}}},
	{
		dir: ".", ldflags: productFlags,
		programs: []program{
			{websiteAPIServer, "./cmd/apiserver", 35},
			{websiteController, "./cmd/controller", 55},
		},
	},
}

// buildProduct brings the programs in the checkout's bin directory up to date. Go does not
// rewrite a current program.
func buildProduct(ctx context.Context, options Options, p *progress) error {
	bin := filepath.Join(options.RepoDir, "bin")
	var wanted []compilation
	packages := 0
	for _, set := range productSets {
		if set.node != "" && set.node != options.Node {
			continue
		}
		for _, program := range set.programs {
			if !isFile(filepath.Join(bin, program.name)) {
				packages += program.packages
			}
			wanted = append(wanted, compilation{dir: filepath.Join(options.RepoDir, set.dir), pkg: program.pkg,
				out: filepath.Join(bin, program.name), ldflags: set.ldflags})
		}
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("creating the directory for programs: %w", err)
	}
	// Test packages that run in parallel build the same programs.
	lock, err := lockFile(ctx, filepath.Join(bin, ".lock"),
		func() { p.printf("waiting for another build that writes to %s", bin) })
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	// A process that starts several clusters builds once.
	built := [2]string{options.RepoDir, string(options.Node)}
	if _, done := builtProducts.Load(built); done {
		return nil
	}
	step := p.step("building this repository")
	step.packages = packages
	p.expect(packages)
	for i, c := range wanted {
		name := filepath.Base(c.out)
		if err := c.run(ctx, step, fmt.Sprintf("%s (%d of %d), ", name, i+1, len(wanted))); err != nil {
			return step.failed(fmt.Errorf("building %s: %w", name, err))
		}
	}
	step.done("%s is up to date", bin)
	builtProducts.Store(built, true)
	return nil
}

// builtProducts are the checkouts, and kinds of nodes, whose programs this process has built.
var builtProducts sync.Map
