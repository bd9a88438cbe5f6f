package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// productPrograms are the programs of this repository and their main packages.
var productPrograms = []program{
	{websiteAPIServer, "./cmd/apiserver"},
	{websiteController, "./cmd/controller"},
}

// nodePrograms are what a real node runs of this repository, besides the product.
var nodePrograms = []program{
	{devclusterCommand, "./hack/devcluster/cmd"},
	{pauseStandIn, "./hack/pause-standin"},
	{gitSyncStandIn, "./hack/gitsync-standin"},
}

// buildProduct brings the programs in the checkout's bin folder up to date. Go leaves a
// program alone that is.
func buildProduct(ctx context.Context, options Options, p *progress) error {
	var wanted []program
	if options.Node == NodeReal {
		wanted = append(wanted, nodePrograms...)
	}
	if !options.KubernetesOnly {
		wanted = append(wanted, productPrograms...)
	}
	repoDir := options.RepoDir
	bin := filepath.Join(repoDir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("making the folder for programs: %w", err)
	}
	// Test packages that run in parallel build the same programs.
	lock, err := lockFile(ctx, filepath.Join(bin, ".lock"), func() { p.printf("another build works in %s, waiting for it", bin) })
	if err != nil {
		return err
	}
	defer lock.release()
	for i, program := range wanted {
		step := p.step(fmt.Sprintf("building %s (%d of %d)", program.name, i+1, len(wanted)))
		c := compilation{dir: repoDir, pkg: program.pkg, out: filepath.Join(bin, program.name)}
		if err := c.run(ctx, func(what string) { step.set("%s", what) }); err != nil {
			return step.failed(fmt.Errorf("building %s: %w", program.name, err))
		}
		step.done("up to date")
	}
	return nil
}
