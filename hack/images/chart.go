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
)

// ignored are the files of the manifests that the chart does not use, as its .helmignore says.
const ignored = "kustomization.yaml"

// writeChart writes the Helm chart of a version as an archive, with the product's images by
// digest. The links of the chart to the manifests become files; equal files make equal bytes.
func writeChart(dir, outDir, version string, names []string) error {
	files := map[string][]byte{}
	if err := readChart(dir, "website", files); err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	number := strings.TrimPrefix(version, "v")
	for name, content := range files {
		content = withDigests(content, names)
		if name == "website/Chart.yaml" {
			content = bytes.Replace(content, []byte("\nversion: "+strings.TrimPrefix(Tag, "v")+"\n"), []byte("\nversion: "+number+"\n"), 1)
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
	if err := os.WriteFile(filepath.Join(outDir, "website-"+number+".tgz"), archive.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the chart: %w", err)
	}
	return nil
}

// readChart reads the files in a directory and in those that it has links to.
func readChart(dir, name string, files map[string][]byte) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path, inChart := filepath.Join(dir, entry.Name()), name+"/"+entry.Name()
		info, err := os.Stat(path) // Follows links.
		switch {
		case err != nil:
			return err
		case info.IsDir():
			err = readChart(path, inChart, files)
		case info.Mode()&fs.ModeType == 0 && entry.Name() != ignored:
			files[inChart], err = os.ReadFile(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
