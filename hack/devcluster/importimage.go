package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster/image"
)

// ImportImage imports an archive of an image into the real node, under the name in the
// archive, and replaces an image of that name.
func (c *Cluster) ImportImage(ctx context.Context, archive string) error {
	if _, err := c.ctr(ctx, "images", "import", "--no-unpack", archive); err != nil {
		return fmt.Errorf("importing an image: %w", err)
	}
	return nil
}

// WriteImporter writes a script for other programs that imports an archive, its argument, into the real node.
func (c *Cluster) WriteImporter(path string) error {
	p := c.Process(nodeInit)
	if p == nil || !p.Running() {
		return errors.New("the cluster has no real node, or it has ended")
	}
	script := fmt.Sprintf("#!/bin/sh\nexec nsenter --target=%d --pid --net --mount -- %s --address=%s --namespace=%s "+
		"images import --no-unpack \"$1\"\n",
		p.PID(), c.plan.programs[ctr], containerdSocket, imageNamespace)
	return os.WriteFile(path, []byte(script), 0o755)
}

// ImportProgram makes an image of a static program of this machine, and imports it into the
// real node. at is the path of the program in the image.
func (c *Cluster) ImportProgram(ctx context.Context, name, program, at string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading the program of an image: %w", err)
	}
	archive := c.plan.layout.nodeFile(filepath.Base(program) + ".tar")
	if err := writeProgram(archive, name, at, data); err != nil {
		return err
	}
	return errors.Join(c.ImportImage(ctx, archive), os.Remove(archive))
}

func writeProgram(archive, name, at string, program []byte) (err error) {
	layer := image.NewLayer()
	layer.AddFile(at, 0o755, program)
	file, err := os.Create(archive)
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return image.Write(
		file, name, v1.Config{Entrypoint: []string{at}, Labels: map[string]string{standInLabel: path.Base(at)}}, layer,
	)
}
