package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

const (
	// chartName is the name of the chart, in Chart.yaml and in a registry.
	chartName = "website"

	// Helm expects these media types of a chart in a registry.
	chartConfigType  = types.MediaType("application/vnd.cncf.helm.config.v1+json")
	chartContentType = types.MediaType("application/vnd.cncf.helm.chart.content.v1.tar+gzip")
)

// writeChart writes the Helm chart of a version, with the product's images by digest: as an archive, and as an OCI
// layout to push to a registry. Equal files make equal bytes.
func writeChart(dir, outDir, version string, names []string) error {
	files, err := readChart(dir)
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	number := strings.TrimPrefix(version, "v")
	for name, content := range files {
		content = withDigests(content, names)
		if name == chartName+"/Chart.yaml" {
			content = bytes.Replace(content, []byte("\nversion: "+strings.TrimPrefix(Tag, "v")+"\n"),
				[]byte("\nversion: "+number+"\n"), 1)
			content = bytes.Replace(content, []byte("\nappVersion: "+Tag+"\n"), []byte("\nappVersion: "+version+"\n"), 1)
		}
		files[name] = content
	}
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	writer := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Format: tar.FormatUSTAR}
		if err := writer.WriteHeader(header); err != nil {
			return fmt.Errorf("packing the chart: %w", err)
		}
		if _, err := writer.Write(files[name]); err != nil {
			return fmt.Errorf("packing the chart: %w", err)
		}
	}
	if err := writer.Close(); err != nil {
		return fmt.Errorf("packing the chart: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return fmt.Errorf("packing the chart: %w", err)
	}
	name := filepath.Join(outDir, chartName+"-"+number)
	if err := os.WriteFile(name+".tgz", archive.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	metadata, err := yaml.YAMLToJSON(files[chartName+"/Chart.yaml"])
	if err != nil {
		return fmt.Errorf("reading Chart.yaml: %w", err)
	}
	return writeOCIChart(name+".oci.tar", number, metadata, archive.Bytes())
}

// writeOCIChart writes the chart as an OCI archive, as "helm push" would push it.
func writeOCIChart(path, number string, metadata, archive []byte) error {
	made := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), chartConfigType)
	made, err := mutate.Append(made, mutate.Addendum{Layer: static.NewLayer(archive, chartContentType)})
	if err != nil {
		return fmt.Errorf("making the chart's artifact: %w", err)
	}
	return writeArchive(path, func(to layout.Path) error {
		return to.AppendImage(ociChart{made, metadata},
			layout.WithAnnotations(map[string]string{annotationReference: number}))
	})
}

// ociChart is an artifact with the metadata of a chart as its configuration.
type ociChart struct {
	v1.Image
	metadata []byte
}

// RawConfigFile returns the metadata of the chart.
func (c ociChart) RawConfigFile() ([]byte, error) { return c.metadata, nil }

// ConfigName returns the digest of the metadata.
func (c ociChart) ConfigName() (v1.Hash, error) {
	hash, _, err := v1.SHA256(bytes.NewReader(c.metadata))
	return hash, err
}

// Manifest returns the manifest, with the metadata as its configuration.
func (c ociChart) Manifest() (*v1.Manifest, error) {
	manifest, err := c.Image.Manifest()
	if err != nil {
		return nil, err
	}
	manifest = manifest.DeepCopy()
	manifest.Config.Size = int64(len(c.metadata))
	manifest.Config.Digest, err = c.ConfigName()
	return manifest, err
}

// RawManifest returns the manifest as JSON.
func (c ociChart) RawManifest() ([]byte, error) { return partial.RawManifest(c) }

// Digest returns the digest of the manifest.
func (c ociChart) Digest() (v1.Hash, error) { return partial.Digest(c) }

// Size returns the size of the manifest.
func (c ociChart) Size() (int64, error) { return partial.Size(c) }

// readChart reads the files of the chart, by their names in its archive.
func readChart(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is no file", path)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[chartName+"/"+filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	return files, err
}
