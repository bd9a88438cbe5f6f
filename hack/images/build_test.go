package images

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// maxAgent is the largest archive of the agent for one platform, which each node pulls.
const maxAgent = 10 << 20

var agent = Programs[slices.IndexFunc(Programs, func(p Program) bool { return p.Name == "website-agent" })]

// build builds the agent's image from a checkout.
func build(t *testing.T, repo string, platforms ...Platform) (dir, name string) {
	t.Helper()
	dir = t.TempDir()
	names, err := Build(t.Context(), Options{
		RepoDir: repo, OutDir: dir, Version: "v1.2.3", Commit: "0123abc", Tag: "v1.2.3", Date: time.Unix(1700000000, 0),
		Platforms: platforms, Programs: []Program{agent},
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, names[0]
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkout copies the sources of the product to another directory.
func checkout(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "another", "directory")
	for _, name := range []string{"cmd", "pkg"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("../..", name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := os.WriteFile(filepath.Join(dir, name), read(t, "../..", name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// unpack unpacks an archive and returns the images of its index by platform.
func unpack(t *testing.T, archive []byte) (map[string]v1.Image, v1.Descriptor) {
	t.Helper()
	dir := t.TempDir()
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s is of %s, want no time", header.Name, header.ModTime)
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			var data []byte
			data, err = io.ReadAll(reader)
			err = errors.Join(err, os.WriteFile(path, data, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the archive has %+v, %v, want one index", manifest, err)
	}
	descriptor := manifest.Manifests[0]
	index, err := top.ImageIndex(descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err = index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		if found[m.Platform.String()], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return found, descriptor
}

func TestReproducible(t *testing.T) {
	platforms := []Platform{{"linux", "amd64"}, {"linux", "arm64"}}
	first, name := build(t, "../..", platforms...)
	second, again := build(t, checkout(t), platforms...)
	if name != again {
		t.Errorf("two builds of the same sources are %s and %s", name, again)
	}
	for _, file := range []string{agent.Archive(), agent.SBOM(), Digests} {
		if !bytes.Equal(read(t, first, file), read(t, second, file)) {
			t.Errorf("two builds of the same sources differ in %s", file)
		}
	}
}

func TestImage(t *testing.T) {
	dir, name := build(t, "../..", Platform{"linux", "amd64"}, Platform{"linux", "arm64"})
	found, descriptor := unpack(t, read(t, dir, agent.Archive()))
	if want := "ghcr.io/kubesites/website-agent:v1.2.3@" + descriptor.Digest.String(); name != want {
		t.Errorf("the image is called %s, want %s", name, want)
	}
	if got := descriptor.Annotations[annotationContainerd]; got != "ghcr.io/kubesites/website-agent:v1.2.3" {
		t.Errorf("containerd imports it as %q", got)
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		image := found[platform]
		if image == nil {
			t.Fatalf("the index has no image for %s", platform)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.OS+"/"+config.Architecture != platform || !config.Created.Equal(time.Unix(1700000000, 0)) {
			t.Errorf("%s: the image is for %s/%s, created %s", platform, config.OS, config.Architecture, config.Created)
		}
		if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/website-agent"}) ||
			len(config.Config.Cmd) > 0 {
			t.Errorf("%s: runs %v %v as %q", platform, config.Config.Entrypoint, config.Config.Cmd, config.Config.User)
		}
		for label, want := range map[string]string{
			"org.opencontainers.image.title": "website-agent", "org.opencontainers.image.version": "v1.2.3",
			"org.opencontainers.image.revision": "0123abc", "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source":  "https://github.com/kubesites/website-apiserver",
			"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
		} {
			if got := config.Config.Labels[label]; got != want {
				t.Errorf("%s: label %s is %q, want %q", platform, label, got, want)
			}
		}
		size := checkFiles(t, platform, image)
		if size > maxAgent {
			t.Errorf("%s: the image of the agent is of %d bytes, want at most %d", platform, size, maxAgent)
		}
	}
}

// checkFiles checks the root file system of an image, and returns the size of its layers.
func checkFiles(t *testing.T, platform string, image v1.Image) (size int64) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	headers, files := map[string]*tar.Header{}, map[string][]byte{}
	for _, layer := range layers {
		compressed, err := layer.Size()
		if err != nil {
			t.Fatal(err)
		}
		size += compressed
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for reader := tar.NewReader(content); ; {
			header, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
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
	if headers["website-agent"] == nil || headers["website-agent"].Mode != 0o755 || headers["tmp/"].Mode != 0o1777 {
		t.Errorf("%s: website-agent %+v, /tmp %+v", platform, headers["website-agent"], headers["tmp/"])
	}
	if !strings.Contains(string(files["etc/passwd"]), "nonroot:x:65532:65532:") ||
		!strings.Contains(string(files["etc/group"]), "nonroot:x:65532:") {
		t.Errorf("%s: /etc/passwd %q, /etc/group %q", platform, files["etc/passwd"], files["etc/group"])
	}
	if !x509.NewCertPool().AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
		t.Errorf("%s: there are no root certificates", platform)
	}
	if _, err := time.LoadLocationFromTZData("Europe/Berlin", files["usr/share/zoneinfo/Europe/Berlin"]); err != nil {
		t.Errorf("%s: time zones: %v", platform, err)
	}
	return size
}

func TestSBOM(t *testing.T) {
	dir, name := build(t, "../..", Platform{"linux", "amd64"})
	var document spdxDocument
	if err := json.Unmarshal(read(t, dir, agent.SBOM()), &document); err != nil {
		t.Fatal(err)
	}
	if document.SPDXVersion != "SPDX-2.3" || document.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("document: %+v", document)
	}
	packages := map[string]spdxPackage{}
	for _, p := range document.Packages {
		packages[p.Name] = p
		if !slices.ContainsFunc(document.Relationships,
			func(r spdxRelationship) bool { return r.RelatedSPDXElement == p.SPDXID }) {
			t.Errorf("package %s is in no relationship", p.Name)
		}
	}
	_, digest, _ := strings.Cut(name, "@sha256:")
	if image := packages[agent.Image]; len(image.Checksums) != 1 || image.Checksums[0].ChecksumValue != digest {
		t.Errorf("image: %+v, want the digest %s", image, digest)
	}
	for _, module := range []string{"github.com/kubesites/website-apiserver", "stdlib", "k8s.io/klog/v2"} {
		if p := packages[module]; p.VersionInfo == "" || len(p.ExternalRefs) != 1 {
			t.Errorf("module %s: %+v", module, p)
		}
	}
}

// An image that is built by a container engine has the same user and entry point.
func TestDockerfile(t *testing.T) {
	stages := strings.Split(string(read(t, "Dockerfile")), "\nFROM ")
	for _, program := range Programs {
		i := slices.IndexFunc(stages, func(stage string) bool { return strings.Contains(stage, " AS "+program.Name+"\n") })
		if i < 0 {
			t.Errorf("Dockerfile has no stage %s", program.Name)
			continue
		}
		for _, line := range []string{
			"USER 65532:65532\n", `ENTRYPOINT ["/` + program.Name + `"]`, `title="` + program.Name + `"`,
			"COPY --from=build /" + program.Name + " /" + program.Name + "\n",
		} {
			if !strings.Contains(stages[i], line) {
				t.Errorf("stage %s of Dockerfile lacks %q", program.Name, line)
			}
		}
	}
}
