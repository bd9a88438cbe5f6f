package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// unpack returns the files of an archive by name, and the headers of all entries.
func unpack(t *testing.T, r io.Reader) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	files, headers := map[string][]byte{}, map[string]*tar.Header{}
	reader := tar.NewReader(r)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[header.Name] = header
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWrite(t *testing.T) {
	build := func() []byte {
		layer := NewLayer()
		layer.AddFile("/hello", 0o755, []byte("program"))
		var archive bytes.Buffer
		names := []string{"example.com/hello:1", "example.com/hello:2"}
		if err := Write(&archive, names, Config{Entrypoint: []string{"/hello"}, User: "65533"}, layer); err != nil {
			t.Fatal(err)
		}
		return archive.Bytes()
	}
	archive := build()
	if !bytes.Equal(archive, build()) {
		t.Error("equal inputs make different archives")
	}
	files, _ := unpack(t, bytes.NewReader(archive))
	blob := func(d descriptor) []byte {
		data := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		sum := sha256.Sum256(data)
		if digest(sum[:]) != d.Digest || int64(len(data)) != d.Size {
			t.Errorf("blob of %s has %d bytes and digest %s, want %+v", d.MediaType, len(data), digest(sum[:]), d)
		}
		return data
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(files["index.json"], &index); err != nil || len(index.Manifests) != 2 {
		t.Fatalf("index = %s (%v)", files["index.json"], err)
	}
	if name := index.Manifests[1].Annotations[nameAnnotation]; name != "example.com/hello:2" {
		t.Errorf("second name = %q", name)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	if err := json.Unmarshal(blob(index.Manifests[0]), &manifest); err != nil || len(manifest.Layers) != 1 {
		t.Fatalf("manifest: %+v, %v", manifest, err)
	}
	var config struct {
		OS     string
		Config Config
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(blob(manifest.Config), &config); err != nil || config.OS != "linux" || config.Config.User != "65533" {
		t.Errorf("configuration: %+v, %v", config, err)
	}
	if len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != manifest.Layers[0].Digest {
		t.Errorf("diff ids = %v, want that of the layer", config.RootFS.DiffIDs)
	}
	content, headers := unpack(t, bytes.NewReader(blob(manifest.Layers[0])))
	if string(content["hello"]) != "program" || headers["hello"].Mode != 0o755 || headers["tmp/"].Mode != 0o1777 {
		t.Errorf("layer: %q, %+v, %+v", content["hello"], headers["hello"], headers["tmp/"])
	}
}

func TestLayerMergesPackages(t *testing.T) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeDir, Name: "./", Mode: 0o700},
		{Typeflag: tar.TypeDir, Name: "./bin/", Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: "./bin/sh", Mode: 0o4755, Size: 4, Uid: 7},
		{Typeflag: tar.TypeLink, Name: "./usr/bin/dash", Linkname: "./bin/sh"},
		{Typeflag: tar.TypeSymlink, Name: "./lib/libx.so.1", Linkname: "libx.so.1.2"},
		{Typeflag: tar.TypeReg, Name: "./usr/share/doc/x/README", Size: 4},
		{Typeflag: tar.TypeChar, Name: "./dev/null"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, "data"); err != nil {
				t.Fatal(err)
			}
		}
	}
	layer := NewLayer()
	layer.MergeUsr()
	if err := errors.Join(w.Close(), layer.AddTar(&packed, skipDocumentation)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := layer.write(&out); err != nil {
		t.Fatal(err)
	}
	files, headers := unpack(t, &out)
	if h := headers["bin"]; h == nil || h.Linkname != "usr/bin" {
		t.Errorf("bin = %+v, want a link to usr/bin", h)
	}
	if h := headers["usr/bin/sh"]; h == nil || h.Mode != 0o4755 || h.Uid != 7 || string(files["usr/bin/sh"]) != "data" {
		t.Errorf("usr/bin/sh = %+v", h)
	}
	if string(files["usr/bin/dash"]) != "data" || headers["usr/lib/libx.so.1"].Linkname != "libx.so.1.2" {
		t.Errorf("links: %+v, %+v", headers["usr/bin/dash"], headers["usr/lib/libx.so.1"])
	}
	for _, absent := range []string{"usr/share/doc/x/README", "dev/null", "bin/sh"} {
		if headers[absent] != nil {
			t.Errorf("%s is in the layer", absent)
		}
	}
}
