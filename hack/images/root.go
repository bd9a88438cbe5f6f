package images

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/kubesites/website-apiserver/hack/devcluster/image"
)

// rootLayer returns a root file system for static programs: accounts, root certificates and
// time zones. All of it comes with Go and its modules, in versions that go.mod pins.
func rootLayer(ctx context.Context) (*image.Layer, error) {
	layer := image.NewLayer()
	layer.AddFile(
		"etc/passwd", 0o644, []byte(
			"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:"+user+":"+user+":nonroot:/nonexistent:/sbin/nologin\n",
		),
	)
	layer.AddFile("etc/group", 0o644, []byte("root:x:0:\nnonroot:x:"+user+":\n"))
	layer.AddFile("etc/nsswitch.conf", 0o644, []byte("hosts: files dns\n"))
	layer.AddFile("etc/ssl/certs/ca-certificates.crt", 0o644, rootCertificates())
	return layer, addTimeZones(ctx, layer)
}

// rootCertificates returns Mozilla's root certificates, except conditionally
// trusted ones: a file of certificates cannot express the conditions.
func rootCertificates() []byte {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			certificates.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return certificates.Bytes()
}

// addTimeZones adds the time zones of the Go release.
func addTimeZones(ctx context.Context, layer *image.Layer) error {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("finding the files of Go: %w", err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(out)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return fmt.Errorf("reading the time zones of Go: %w", err)
	}
	defer func() { _ = archive.Close() }()
	for _, file := range archive.File {
		if file.FileInfo().IsDir() {
			continue
		}
		data, err := readZipped(file)
		if err != nil {
			return fmt.Errorf("reading the time zone %s: %w", file.Name, err)
		}
		layer.AddFile("usr/share/zoneinfo/"+file.Name, 0o644, data)
	}
	return nil
}

func readZipped(file *zip.File) ([]byte, error) {
	r, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}
