package images

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Files of a release, besides the images.
const (
	// Checksums has the SHA-256 of every other file, as sha256sum prints it.
	Checksums = "SHA256SUMS"
	// Signature is the signature of Checksums, by an Ed25519 key.
	Signature = "SHA256SUMS.sig"
	// PublicKey verifies Signature.
	PublicKey = "release.pub"
)

// installations are the files to apply, with the directory of artifacts from which each is built.
var installations = map[string]string{"install.yaml": "default", "install-ha.yaml": "ha"}

var releaseVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// Release builds the images and their accompanying files: manifests with the digests of the
// images, checksums, and their signature.
func Release(ctx context.Context, o Options, keyFile string) error {
	if !releaseVersion.MatchString(o.Version) {
		return fmt.Errorf("version %q: must be vMAJOR.MINOR.PATCH, as in v0.2.0", o.Version)
	}
	if len(o.Programs) > 0 {
		return errors.New("a release has the images of all programs")
	}
	if strings.HasSuffix(o.Commit, "-dirty") {
		return errors.New("there are changes that are not committed: the release could not be built again")
	}
	key, err := readKey(keyFile)
	if err != nil {
		return err
	}
	// A file of an earlier release would be signed as well.
	if err := os.RemoveAll(o.OutDir); err != nil {
		return fmt.Errorf("removing the former release: %w", err)
	}
	o.Tag = o.Version
	names, err := Build(ctx, o)
	if err != nil {
		return err
	}
	for file, overlay := range installations {
		manifests, err := manifests(filepath.Join(o.RepoDir, "artifacts", overlay), names)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(o.OutDir, file), manifests, 0o644); err != nil {
			return fmt.Errorf("writing the manifests: %w", err)
		}
	}
	if err := writeChart(filepath.Join(o.RepoDir, "artifacts", "chart"), o.OutDir, o.Version, names); err != nil {
		return err
	}
	return sign(o.OutDir, key)
}

// manifests builds an overlay, with the product's images by digest.
func manifests(overlay string, names []string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", overlay, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", overlay, err)
	}
	for _, name := range names {
		if !bytes.Contains(text, tagged(name)) {
			return nil, fmt.Errorf("%s does not use the image %s", overlay, tagged(name))
		}
	}
	return withDigests(text, names), nil
}

// withDigests replaces the product's images, which have a tag, by those with a digest.
func withDigests(text []byte, names []string) []byte {
	for _, name := range names {
		text = bytes.ReplaceAll(text, tagged(name), []byte(name))
	}
	return text
}

// tagged returns the image's name in artifacts.
func tagged(name string) []byte {
	image, _, _ := strings.Cut(name, ":")
	return []byte(image + ":" + Tag)
}

// readKey reads an Ed25519 key, as "openssl genpkey -algorithm ed25519" writes it.
func readKey(path string) (ed25519.PrivateKey, error) {
	if path == "" {
		return nil, errors.New("a release is signed, so it takes a key (KEY=FILE): openssl genpkey -algorithm ed25519 " +
			"-out FILE")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s is not in the format PEM", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key in %s is a %T, not an Ed25519 key", path, parsed)
	}
	return key, nil
}

// sign writes the checksums of a directory's files, and their signature: equal files have
// equal signatures.
func sign(dir string, key ed25519.PrivateKey) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing the release: %w", err)
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return fmt.Errorf("computing a checksum: %w", err)
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), entry.Name())
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encoding the public key: %w", err)
	}
	for name, data := range map[string][]byte{
		Checksums: sums.Bytes(),
		Signature: ed25519.Sign(key, sums.Bytes()),
		PublicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("signing the release: %w", err)
		}
	}
	return nil
}
