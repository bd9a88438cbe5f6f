// Package image makes container images without a container engine: archives in the OCI
// image layout with a single layer, put together from files and from Debian's packages.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// Media types of the OCI image format.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
	// nameAnnotation is where containerd reads the name of an image in an archive.
	nameAnnotation = "io.containerd.image.name"
)

// epoch is the time of everything in an image: equal inputs make equal images.
var epoch = time.Unix(0, 0).UTC()

// Config is what an image says about the process to run.
type Config struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	Cmd        []string          `json:"Cmd,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
	StopSignal string            `json:"StopSignal,omitempty"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// Write writes an image archive whose image has these names.
func Write(w io.Writer, names []string, config Config, layer *Layer) (err error) {
	spool, err := os.CreateTemp("", "image-layer-")
	if err != nil {
		return fmt.Errorf("making a file for the image's layer: %w", err)
	}
	defer func() { err = errors.Join(err, spool.Close(), os.Remove(spool.Name())) }()
	hash := sha256.New()
	if err := layer.write(io.MultiWriter(spool, hash)); err != nil {
		return err
	}
	size, err := spool.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("measuring the image's layer: %w", err)
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the image's layer: %w", err)
	}
	// Not compressed: the archive goes to the same machine's containerd.
	layerBlob := descriptor{MediaType: typeLayer, Digest: digest(hash.Sum(nil)), Size: size}

	a := archive{tar: tar.NewWriter(w)}
	a.folder("blobs/")
	a.folder("blobs/sha256/")
	a.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	a.copy(layerBlob, spool)
	here := platform{Architecture: runtime.GOARCH, OS: "linux"}
	configBlob := a.blob(typeConfig, map[string]any{
		"architecture": here.Architecture, "os": here.OS, "created": epoch, "config": config,
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{layerBlob.Digest}},
		"history": []any{map[string]any{"created": epoch, "created_by": "devcluster"}},
	})
	manifest := a.blob(typeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": configBlob, "layers": []descriptor{layerBlob},
	})
	var manifests []descriptor
	for _, name := range names {
		named := manifest
		named.Platform = &here
		named.Annotations = map[string]string{nameAnnotation: name}
		manifests = append(manifests, named)
	}
	a.file("index.json", a.encode(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests}))
	if err := errors.Join(a.err, a.tar.Close()); err != nil {
		return fmt.Errorf("writing the image archive: %w", err)
	}
	return nil
}

func digest(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// archive writes entries until the first error, which it keeps.
type archive struct {
	tar *tar.Writer
	err error
}

func (a *archive) folder(name string) {
	a.header(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: epoch})
}

func (a *archive) header(h *tar.Header) {
	if a.err == nil {
		a.err = a.tar.WriteHeader(h)
	}
}

func (a *archive) file(name string, data []byte) {
	a.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: epoch})
	if a.err == nil {
		_, a.err = a.tar.Write(data)
	}
}

func (a *archive) encode(content any) []byte {
	data, err := json.Marshal(content)
	a.err = errors.Join(a.err, err)
	return data
}

func (a *archive) blob(mediaType string, content any) descriptor {
	data := a.encode(content)
	sum := sha256.Sum256(data)
	d := descriptor{MediaType: mediaType, Digest: digest(sum[:]), Size: int64(len(data))}
	a.copy(d, bytes.NewReader(data))
	return d
}

func (a *archive) copy(d descriptor, content io.Reader) {
	a.header(&tar.Header{Typeflag: tar.TypeReg, Name: "blobs/sha256/" + d.Digest[len("sha256:"):], Mode: 0o644, Size: d.Size, ModTime: epoch})
	if a.err == nil {
		_, a.err = io.Copy(a.tar, content)
	}
}
