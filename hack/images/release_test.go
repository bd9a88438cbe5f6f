package images

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManifests(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	var names []string
	for _, program := range Programs {
		names = append(names, program.Image+":v9.8.7"+digest)
	}
	for file, overlay := range installations {
		text, err := manifests(filepath.Join("../../artifacts", overlay), names)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), name+"\n") {
				t.Errorf("%s does not name %s", file, name)
			}
		}
		if strings.Contains(string(text), Tag+"\n") {
			t.Errorf("%s has an image by the tag %s", file, Tag)
		}
	}
	if _, err := manifests("../../artifacts/default", []string{"ghcr.io/kubesites/other:v1" + digest}); err == nil {
		t.Error("an image that the manifests do not use is ignored")
	}
}

func TestSign(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := readKey(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sign(dir, key); err != nil {
		t.Fatal(err)
	}
	sums := read(t, dir, Checksums)
	// sha256sum prints the same.
	if want := "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03  file\n"; string(sums) != want {
		t.Errorf("checksums are %q, want %q", sums, want)
	}
	if !ed25519.Verify(public, sums, read(t, dir, Signature)) {
		t.Error("the signature does not match the checksums")
	}
	if block, _ := pem.Decode(read(t, dir, PublicKey)); block == nil || block.Type != "PUBLIC KEY" {
		t.Errorf("public key: %+v", block)
	}
}

func TestParsePrograms(t *testing.T) {
	for names, want := range map[string]int{"": 0, "website-agent": 1, "website-apiserver,website-controller": 2} {
		if programs, err := ParsePrograms(names); err != nil || len(programs) != want {
			t.Errorf("ParsePrograms(%q) = %v, %v, want %d", names, programs, err, want)
		}
	}
	if programs, err := ParsePrograms("website-agent,kubectl"); err == nil || !strings.Contains(err.Error(), "kubectl") {
		t.Errorf("ParsePrograms = %v, %v, want an error that names kubectl", programs, err)
	}
	if err := Release(t.Context(), Options{Version: "v0.1.0", Programs: []Program{agent}}, ""); err == nil ||
		!strings.Contains(err.Error(), "all programs") {
		t.Errorf("the release of a single program: %v", err)
	}
}

func TestReleaseRefuses(t *testing.T) {
	dir := t.TempDir()
	notKey := filepath.Join(dir, "not-a-key")
	if err := os.WriteFile(notKey, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ version, commit, key, want string }{
		"no version":     {"", "", notKey, "must be vMAJOR.MINOR.PATCH"},
		"a bare version": {"0.1.0", "", notKey, "must be vMAJOR.MINOR.PATCH"},
		"changes":        {"v0.1.0", "0123abc-dirty", notKey, "not committed"},
		"no key":         {"v0.1.0", "", "", "openssl genpkey"},
		"a missing key":  {"v0.1.0", "", filepath.Join(dir, "missing"), "no such file"},
		"another file":   {"v0.1.0", "", notKey, "not in the format PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Release(t.Context(), Options{Version: tt.version, Commit: tt.commit, OutDir: filepath.Join(dir, "out")},
				tt.key)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Release = %v, want %q", err, tt.want)
			}
		})
	}
}
