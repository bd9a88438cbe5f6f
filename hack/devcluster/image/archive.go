// Package image builds container images without a container engine: archives of images with
// a single layer, from files and Debian packages.
package image

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of all files in an image: equal inputs make equal images.
var epoch = time.Unix(0, 0).UTC()

// Write writes an archive of an image, as docker save does.
func Write(w io.Writer, image string, config v1.Config, layer *Layer) error {
	tag, err := name.NewTag(image)
	if err != nil {
		return fmt.Errorf("naming the image: %w", err)
	}
	var files bytes.Buffer
	if err := layer.Write(&files); err != nil {
		return err
	}
	made, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		Architecture: runtime.GOARCH, OS: "linux", Created: v1.Time{Time: epoch}, Config: config,
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err == nil {
		// The layer is not compressed, as the archive is imported on the same machine.
		made, err = mutate.AppendLayers(made, static.NewLayer(files.Bytes(), types.OCIUncompressedLayer))
	}
	if err == nil {
		err = tarball.Write(tag, made, w)
	}
	if err != nil {
		return fmt.Errorf("writing the image archive: %w", err)
	}
	return nil
}
