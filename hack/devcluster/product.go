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

// buildProduct brings the programs in the checkout's bin folder up to date. Go leaves a
// program alone that is.
func buildProduct(ctx context.Context, repoDir string, p *progress) error {
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
	for i, program := range productPrograms {
		step := p.step(fmt.Sprintf("building %s (%d of %d)", program.name, i+1, len(productPrograms)))
		c := compilation{dir: repoDir, pkg: program.pkg, out: filepath.Join(bin, program.name)}
		if err := c.run(ctx, func(what string) { step.set("%s", what) }); err != nil {
			return step.failed(fmt.Errorf("building %s: %w", program.name, err))
		}
		step.done("up to date")
	}
	return nil
}
