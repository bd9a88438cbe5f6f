package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
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
		if err := Write(&archive, "example.com/hello:1", v1.Config{Entrypoint: []string{"/hello"}, User: "65533"},
			layer); err != nil {
			t.Fatal(err)
		}
		return archive.Bytes()
	}
	archive := build()
	if !bytes.Equal(archive, build()) {
		t.Error("equal inputs make different archives")
	}
	tag, err := name.NewTag("example.com/hello:1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	if config, err := image.ConfigFile(); err != nil || config.OS != "linux" || config.Config.User != "65533" {
		t.Errorf("configuration: %+v, %v", config, err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("layers: %v, %v, want one", layers, err)
	}
	files, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	content, headers := unpack(t, files)
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
	if err := layer.Write(&out); err != nil {
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

// TestRename: Rename copies an image to another archive, under the name that pods use. Check rejects
// archives of several images or of another platform.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	write := func(file string, config v1.ConfigFile, names ...string) string {
		t.Helper()
		layer := NewLayer()
		layer.AddFile("/hello", 0o755, []byte("program"))
		var files bytes.Buffer
		if err := layer.Write(&files); err != nil {
			t.Fatal(err)
		}
		images := map[name.Tag]v1.Image{}
		for i, text := range names {
			config.Author = strconv.Itoa(i)
			made, err := mutate.ConfigFile(empty.Image, &config)
			if err == nil {
				made, err = mutate.AppendLayers(made, static.NewLayer(files.Bytes(), types.OCIUncompressedLayer))
			}
			tag, tagErr := name.NewTag(text)
			if err := errors.Join(err, tagErr); err != nil {
				t.Fatal(err)
			}
			images[tag] = made
		}
		path := filepath.Join(dir, file)
		if err := tarball.MultiWriteToFile(path, images); err != nil {
			t.Fatal(err)
		}
		return path
	}
	here := v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{User: "65533"}}
	out := filepath.Join(dir, "out.tar")
	if err := Rename(out, write("one.tar", here, "example.com/other:2"), "example.com/hello:1"); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("example.com/hello:1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(out, &tag)
	if err != nil {
		t.Fatal(err)
	}
	if config, err := image.ConfigFile(); err != nil || config.Config.User != "65533" {
		t.Errorf("the image is of %+v, %v", config, err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	elsewhere := here
	elsewhere.Architecture = "s390x"
	for file, want := range map[string]string{
		write("two.tar", here, "example.com/one:1", "example.com/two:1"): "2 images",
		write("elsewhere.tar", elsewhere, "example.com/one:1"):           "linux/s390x",
	} {
		if err := Check(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q in it", file, err, want)
		}
	}
}
