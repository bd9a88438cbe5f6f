package images

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/kubesites/website-apiserver/hack/devcluster/image"
)

// labels returns the OCI labels of a program's images, which are annotations of the index as well.
func (o Options) labels(program Program) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       program.Name,
		"org.opencontainers.image.description": program.Description,
		"org.opencontainers.image.source":      source,
		"org.opencontainers.image.licenses":    license,
		"org.opencontainers.image.version":     o.Version,
		"org.opencontainers.image.revision":    o.Commit,
		"org.opencontainers.image.created":     o.Date.UTC().Format(time.RFC3339),
	}
}

// image returns an image of one layer with the root file system, which all images share,
// and one with the program.
func (o Options) image(program Program, platform Platform, root v1.Layer, binary string) (v1.Image, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", program.Name, err)
	}
	// The layer repeats the directories of the root file system.
	files := image.NewLayer()
	files.AddFile(program.Name, 0o755, data)
	layer, err := packed(files)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: o.Date.UTC()}
	made, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
		Architecture: platform.Arch, OS: platform.OS, Created: created, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/" + program.Name},
			Env:        []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
			User:       user + ":" + user,
			WorkingDir: "/",
			Labels:     o.labels(program),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("configuring the image of %s: %w", program.Name, err)
	}
	made = mutate.ConfigMediaType(made, types.OCIConfigJSON)
	made, err = mutate.Append(made,
		mutate.Addendum{Layer: root, History: v1.History{Created: created, CreatedBy: "root file system"}},
		mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: program.Name}})
	if err != nil {
		return nil, fmt.Errorf("making the image of %s: %w", program.Name, err)
	}
	return made, nil
}

// packed compresses a layer.
func packed(files *image.Layer) (v1.Layer, error) {
	var archive bytes.Buffer
	if err := files.Write(&archive); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching,
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("compressing a layer: %w", err)
	}
	return layer, nil
}
