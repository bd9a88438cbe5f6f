package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// The modules of programs that only the development cluster takes, relative to the checkout.
const (
	devclusterModule = "hack/devcluster"
	imagesModule     = "hack/images"
)

// productSets are the programs of this repository, by the module they are built in.
var productSets = []programSet{
	{
		dir: devclusterModule, node: NodeReal,
		programs: []program{
			{devclusterCommand, "./cmd"},
			{pauseStandIn, "./pause-standin"},
			{gitSyncStandIn, "./gitsync-standin"},
		},
	},
	{dir: imagesModule, node: NodeReal, programs: []program{{imagesCommand, "./cmd"}}},
	{dir: ".", node: NodeReal, programs: []program{{websiteAgent, "./cmd/agent"}}},
	{
		dir: ".",
		programs: []program{
			{websiteAPIServer, "./cmd/apiserver"},
			{websiteController, "./cmd/controller"},
		},
	},
}

// buildProduct brings the programs in the checkout's bin directory up to date. Go leaves a
// program alone that is.
func buildProduct(ctx context.Context, options Options, p *progress) error {
	bin := filepath.Join(options.RepoDir, "bin")
	var wanted []compilation
	for _, set := range productSets {
		if set.node != "" && set.node != options.Node {
			continue
		}
		for _, program := range set.programs {
			wanted = append(wanted, compilation{
				dir: filepath.Join(options.RepoDir, set.dir), pkg: program.pkg, out: filepath.Join(bin, program.name)})
		}
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("creating the directory for programs: %w", err)
	}
	// Test packages that run in parallel build the same programs.
	lock, err := lockFile(ctx, filepath.Join(bin, ".lock"), func() { p.printf("waiting for another build that writes to %s", bin) })
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
	for i, c := range wanted {
		name := filepath.Base(c.out)
		if err := c.run(ctx, func(what string) { step.set("%s (%d of %d), %s", name, i+1, len(wanted), what) }); err != nil {
			return step.failed(fmt.Errorf("building %s: %w", name, err))
		}
	}
	step.done("%s is up to date", bin)
	builtProducts.Store(built, true)
	return nil
}

// builtProducts are the checkouts, and kinds of nodes, whose programs this process has built.
var builtProducts sync.Map
