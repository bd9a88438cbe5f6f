package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// These annotations of an index in an archive are the image's name for "docker load" and
// "ctr images import".
const (
	annotationReference  = "org.opencontainers.image.ref.name"
	annotationContainerd = "io.containerd.image.name"
)

// index returns the target of a tag: the images of all platforms.
func index(images map[Platform]v1.Image, platforms []Platform, labels map[string]string) (v1.ImageIndex, error) {
	var made v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		made = mutate.AppendManifests(made, mutate.IndexAddendum{
			Add:        images[platform],
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: platform.OS, Architecture: platform.Arch}},
		})
	}
	annotated, ok := mutate.Annotations(made, labels).(v1.ImageIndex)
	if !ok {
		return nil, errors.New("annotating an index: it is no index any more")
	}
	return annotated, nil
}

// writeArchive writes an OCI archive with the image or index that add appends.
func writeArchive(path string, add func(layout.Path) error) error {
	directory, err := os.MkdirTemp("", "layout-")
	if err != nil {
		return fmt.Errorf("creating a directory for %s: %w", filepath.Base(path), err)
	}
	defer func() { _ = os.RemoveAll(directory) }()
	to, err := layout.Write(directory, empty.Index)
	if err == nil {
		err = add(to)
	}
	var file *os.File
	if err == nil {
		file, err = os.Create(path)
	}
	if err == nil {
		err = errors.Join(pack(file, directory), file.Close())
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return nil
}

// pack writes the files of a directory as an archive, sorted by name, without any
// property that differs between machines.
func pack(w io.Writer, directory string) error {
	out := tar.NewWriter(w)
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == directory {
			return err
		}
		name, err := filepath.Rel(directory, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: filepath.ToSlash(name) + "/", Mode: 0o755})
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644,
			Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	})
	return errors.Join(err, out.Close())
}
