package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// devclusterModule is the module that this package is in, relative to the checkout.
const devclusterModule = "hack/devcluster"

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
	{
		dir: ".",
		programs: []program{
			{websiteAPIServer, "./cmd/apiserver"},
			{websiteController, "./cmd/controller"},
		},
	},
}

// buildProduct brings the programs in the checkout's bin folder up to date. Go leaves a
// program alone that is.
func buildProduct(ctx context.Context, options Options, p *progress) error {
	bin := filepath.Join(options.RepoDir, "bin")
	var wanted []compilation
	for _, set := range productSets {
		if set.node != "" && set.node != options.Node || set.dir == "." && options.KubernetesOnly {
			continue
		}
		for _, program := range set.programs {
			wanted = append(wanted, compilation{
				dir: filepath.Join(options.RepoDir, set.dir), pkg: program.pkg, out: filepath.Join(bin, program.name)})
		}
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("making the folder for programs: %w", err)
	}
	// Test packages that run in parallel build the same programs.
	lock, err := lockFile(ctx, filepath.Join(bin, ".lock"), func() { p.printf("another build works in %s, waiting for it", bin) })
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	for i, c := range wanted {
		name := filepath.Base(c.out)
		step := p.step(fmt.Sprintf("building %s (%d of %d)", name, i+1, len(wanted)))
		if err := c.run(ctx, func(what string) { step.set("%s", what) }); err != nil {
			return step.failed(fmt.Errorf("building %s: %w", name, err))
		}
		step.done("up to date")
	}
	return nil
}
