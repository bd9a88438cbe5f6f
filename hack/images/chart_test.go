package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestWriteChart(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	var names []string
	for _, program := range Programs {
		names = append(names, program.Image+":v9.8.7"+digest)
	}
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := writeChart("../../artifacts/chart", dir, "v9.8.7", names); err != nil {
			t.Fatal(err)
		}
	}
	archive := read(t, first, "website-9.8.7.tgz")
	if !bytes.Equal(archive, read(t, second, "website-9.8.7.tgz")) {
		t.Error("two archives of the same chart differ")
	}
	files := map[string]string{}
	uncompressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(uncompressed); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		content, readErr := io.ReadAll(reader)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		files[header.Name] = string(content)
	}
	for name, want := range map[string]string{
		"website/Chart.yaml":                              "version: 9.8.7\nappVersion: v9.8.7\n",
		"website/values.schema.json":                      "additionalProperties",
		"website/files/default/apiserver.yaml":            "website-apiserver:v9.8.7" + digest + "\n",
		"website/files/base/controller.yaml":              "website-agent:v9.8.7" + digest + "\"",
		"website/files/components/argo-cd/uninstall.yaml": "website-apiserver:v9.8.7" + digest + "\n",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q: %s", name, want, files[name])
		}
	}
	for name, content := range files {
		if strings.HasSuffix(name, "kustomization.yaml") || strings.Contains(content, "kubesites/website-apiserver:"+Tag) {
			t.Errorf("%s is in the chart: %s", name, content)
		}
	}
}

// TestOCIChart pushes the chart's artifact to a registry, and compares the files that Helm
// would pull.
func TestOCIChart(t *testing.T) {
	dir := t.TempDir()
	if err := writeChart("../../artifacts/chart", dir, "v9.8.7", nil); err != nil {
		t.Fatal(err)
	}
	unpacked := t.TempDir()
	for reader := tar.NewReader(bytes.NewReader(read(t, dir, "website-9.8.7.oci.tar"))); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		path := filepath.Join(unpacked, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var content []byte
			if content, err = io.ReadAll(reader); err == nil {
				err = os.WriteFile(path, content, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations[annotationReference] != "9.8.7" {
		t.Fatalf("the index is %+v, %v", manifest, err)
	}
	chart, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/charts/website:9.8.7")
	if err == nil {
		err = remote.Write(reference, chart)
	}
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(reference)
	if err != nil {
		t.Fatal(err)
	}
	m, err := pulled.Manifest()
	if err != nil || m.Config.MediaType != chartConfigType || len(m.Layers) != 1 ||
		m.Layers[0].MediaType != chartContentType {
		t.Fatalf("the manifest is %+v, %v", m, err)
	}
	metadata, err := pulled.RawConfigFile()
	if err != nil || !strings.Contains(string(metadata), `"version":"9.8.7"`) {
		t.Errorf("the configuration is %s, %v", metadata, err)
	}
	layer, err := pulled.LayerByDigest(m.Layers[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	content, err := layer.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	if archive, err := io.ReadAll(content); err != nil || !bytes.Equal(archive, read(t, dir, "website-9.8.7.tgz")) {
		t.Errorf("the layer is not the archive of the chart: %v", err)
	}
}
