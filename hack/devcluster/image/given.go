package image

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Check returns an error unless archive is an archive of exactly one image, for the platform of this
// machine.
func Check(archive string) error {
	_, err := read(archive)
	return err
}

// Rename copies the image in archive to a new archive, out, under the name image.
func Rename(out, archive, image string) error {
	tag, err := name.NewTag(image)
	if err != nil {
		return fmt.Errorf("naming the image: %w", err)
	}
	found, err := read(archive)
	if err != nil {
		return err
	}
	if err := tarball.WriteToFile(out, tag, found); err != nil {
		return fmt.Errorf("writing the image archive: %w", err)
	}
	return nil
}

func opener(archive string) tarball.Opener {
	return func() (io.ReadCloser, error) { return os.Open(archive) }
}

func read(archive string) (v1.Image, error) {
	info, err := os.Stat(archive)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", archive)
	}
	if err != nil {
		return nil, fmt.Errorf("opening an image archive: %w", err)
	}
	manifest, err := tarball.LoadManifest(opener(archive))
	if err == nil && len(manifest) != 1 {
		err = fmt.Errorf("it holds %d images: save one alone", len(manifest))
	}
	var found v1.Image
	if err == nil {
		found, err = tarball.ImageFromPath(archive, nil)
	}
	if err == nil {
		err = fits(found)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not an archive of an image for this machine, as \"docker save\" or \"ctr images "+
			"export\" writes it: %w", archive, err)
	}
	return found, nil
}

// fits returns an error if the platform of an image differs from the node's, or if the image is empty.
func fits(image v1.Image) error {
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		return fmt.Errorf("the image is for %s/%s, the node is linux/%s", config.OS, config.Architecture, runtime.GOARCH)
	}
	layers, err := image.Layers()
	if err == nil && len(layers) == 0 {
		err = errors.New("the image is empty")
	}
	return err
}
