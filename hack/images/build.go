package images

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Options configure a build.
type Options struct {
	// RepoDir is the checkout.
	RepoDir string
	// OutDir receives the files. It is created.
	OutDir string
	// Version and Commit are reported by the programs.
	Version, Commit string
	// Tag is the tag of the images.
	Tag string
	// Date is the time of the commit: the time of the build would differ each time.
	Date time.Time
	// Platforms of each image.
	Platforms []Platform
	// Programs are the images. Default: all.
	Programs []Program
	// ProgramDir has the programs of the only platform. Default: they are compiled.
	ProgramDir string
}

// Digests is the file with the names of the images and their digests.
const Digests = "images.txt"

// Archive returns the name of a program's archive.
func (p Program) Archive() string { return p.Name + ".oci.tar" }

// SBOM returns the name of the SPDX document of a program's image.
func (p Program) SBOM() string { return p.Name + ".spdx.json" }

// Build builds the images, and returns their names with digests.
func Build(ctx context.Context, o Options) (names []string, err error) {
	if len(o.Programs) == 0 {
		o.Programs = Programs
	}
	if o.OutDir, err = filepath.Abs(o.OutDir); err != nil {
		return nil, fmt.Errorf("resolving the directory for images: %w", err)
	}
	if err := os.MkdirAll(o.OutDir, 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory for images: %w", err)
	}
	err = each(ctx, o.Programs, func(program Program, root v1.Layer, temporary string) error {
		name, err := o.build(ctx, program, root, temporary)
		names = append(names, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(o.OutDir, Digests), []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("writing the names of the images: %w", err)
	}
	return names, nil
}

// Made is the image of a program.
type Made struct {
	Program
	// Index has the images of all platforms.
	Index v1.ImageIndex
	// Images are the images of each platform.
	Images map[Platform]v1.Image
}

// Make makes the images in memory, without writing files.
func Make(ctx context.Context, o Options) (all []Made, err error) {
	err = each(ctx, Programs, func(program Program, root v1.Layer, temporary string) error {
		made, _, err := o.make(ctx, program, root, temporary)
		all = append(all, made)
		return err
	})
	return all, err
}

// each calls do for programs, with the first layer of their images and a directory that is
// removed afterwards.
func each(ctx context.Context, programs []Program, do func(Program, v1.Layer, string) error) (err error) {
	temporary, err := os.MkdirTemp("", "images-")
	if err != nil {
		return fmt.Errorf("creating a directory for the content of images: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	files, err := rootLayer(ctx)
	if err != nil {
		return err
	}
	root, err := packed(files)
	if err != nil {
		return err
	}
	for _, program := range programs {
		if err := do(program, root, temporary); err != nil {
			return err
		}
	}
	return nil
}

// make makes the image of a program for all platforms, and returns its binaries.
func (o Options) make(ctx context.Context, program Program, root v1.Layer, temporary string) (Made, []string, error) {
	made, binaries := Made{Program: program, Images: map[Platform]v1.Image{}}, []string{}
	for _, platform := range o.Platforms {
		binary := filepath.Join(o.ProgramDir, program.Name)
		if o.ProgramDir == "" {
			binary = filepath.Join(temporary, program.Name+"-"+platform.Arch)
			if err := o.compile(ctx, program, platform, binary); err != nil {
				return Made{}, nil, err
			}
		}
		binaries = append(binaries, binary)
		image, err := o.image(program, platform, root, binary)
		if err != nil {
			return Made{}, nil, err
		}
		made.Images[platform] = image
	}
	var err error
	made.Index, err = index(made.Images, o.Platforms, o.labels(program))
	return made, binaries, err
}

// build writes the image of a program for all platforms.
func (o Options) build(ctx context.Context, program Program, root v1.Layer, temporary string) (string, error) {
	all, binaries, err := o.make(ctx, program, root, temporary)
	if err != nil {
		return "", err
	}
	made := all.Index
	digest, err := made.Digest()
	if err != nil {
		return "", fmt.Errorf("computing the digest of %s: %w", program.Image, err)
	}
	names := map[string]string{annotationReference: o.Tag, annotationContainerd: program.Image + ":" + o.Tag}
	if err := writeArchive(filepath.Join(o.OutDir, program.Archive()), func(to layout.Path) error {
		return to.AppendIndex(made, layout.WithAnnotations(names))
	}); err != nil {
		return "", err
	}
	document, err := o.sbom(program, digest, binaries)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(o.OutDir, program.SBOM()), document, 0o644); err != nil {
		return "", fmt.Errorf("writing the SBOM of %s: %w", program.Name, err)
	}
	return program.Image + ":" + o.Tag + "@" + digest.String(), nil
}
