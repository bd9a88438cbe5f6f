package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
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
		"website/Chart.yaml":                   "version: 9.8.7\nappVersion: v9.8.7\n",
		"website/values.schema.json":           "additionalProperties",
		"website/files/default/apiserver.yaml": "website-apiserver:v9.8.7" + digest + "\n",
		"website/files/base/controller.yaml":   "website-agent:v9.8.7" + digest + "\"",
		"website/templates/tests/check.yaml":   "website-apiserver:v9.8.7" + digest + "\"",
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
