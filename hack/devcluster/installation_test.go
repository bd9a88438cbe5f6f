package devcluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallation: another image of a program results in another pod.
func TestInstallation(t *testing.T) {
	repo := t.TempDir()
	artifacts := filepath.Join(repo, "artifacts", "default")
	if err := os.MkdirAll(artifacts, 0o700); err != nil {
		t.Fatal(err)
	}
	// A checkout may be reached through a symbolic link.
	link := filepath.Join(t.TempDir(), "checkout")
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	l := newLayout(t)
	archives := map[string]string{websiteAPIServer: "server.tar", websiteController: "controller.tar"}
	if err := writeInstallation(l, link, archives, []string{"--default-gateway=gateway/public"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(l.installation(), "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Resources []string
		Patches   []struct{ Patch string }
	}
	if err := json.Unmarshal(data, &kustomization); err != nil {
		t.Fatal(err)
	}
	if len(kustomization.Resources) != 2 || filepath.IsAbs(kustomization.Resources[0]) {
		t.Fatalf("the resources are %v", kustomization.Resources)
	}
	if found, err := filepath.EvalSymlinks(filepath.Join(l.installation(), kustomization.Resources[0])); err != nil ||
		found != artifacts {
		t.Errorf("%s leads to %s, %v, want %s", kustomization.Resources[0], found, err, artifacts)
	}
	if len(kustomization.Patches) != len(workloads)+1 {
		t.Fatalf("the patches are %v", kustomization.Patches)
	}
	if flag := kustomization.Patches[len(workloads)].Patch; !strings.Contains(flag, "--default-gateway=gateway/public") {
		t.Errorf("the patch with the flags of website-controller is %s", flag)
	}
	for i, w := range workloads {
		if patch := kustomization.Patches[i].Patch; !strings.Contains(patch, w.kind) ||
			!strings.Contains(patch, archives[w.name]) {
			t.Errorf("the patch of %s is %s", w.name, patch)
		}
	}
}

func TestProductArchives(t *testing.T) {
	repo := t.TempDir()
	if err := os.Mkdir(filepath.Join(repo, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := &plan{options: Options{RepoDir: repo, CacheDir: t.TempDir()}}
	for _, name := range []string{websiteAPIServer, websiteController, websiteAgent, imagesCommand} {
		writeTestFile(t, p.product(name), "one")
	}
	first, err := p.productArchives()
	if err != nil || len(first) != 3 {
		t.Fatalf("the archives are %v, %v", first, err)
	}
	writeTestFile(t, p.product(websiteController), "two")
	second, err := p.productArchives()
	if err != nil {
		t.Fatal(err)
	}
	if second[websiteAPIServer] != first[websiteAPIServer] || second[websiteController] == first[websiteController] {
		t.Errorf("with another website-controller, the archives were %v, are %v", first, second)
	}
	writeTestFile(t, p.product(imagesCommand), "two")
	if third, err := p.productArchives(); err != nil || third[websiteAPIServer] == second[websiteAPIServer] {
		t.Errorf("with another way to make images, the archives were %v, are %v, %v", second, third, err)
	}
}

// TestStoreStays: another kind of node, or etcd, would have other Websites.
func TestStoreStays(t *testing.T) {
	l := newLayout(t)
	var s settings
	// The choice may change until the cluster has started.
	for _, mode := range []NodeMode{NodeSimulated, NodeReal} {
		if err := s.chooseStore(l, mode, mode == NodeSimulated); err != nil {
			t.Errorf("not started, then %s: %v", mode, err)
		}
	}
	if loaded, err := loadSettings(l); err != nil || loaded.Mode != NodeReal || loaded.ExternalEtcd {
		t.Errorf("loadSettings = %+v, %v", loaded, err)
	}
	if err := os.MkdirAll(filepath.Join(l.etcdData(), "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		mode         NodeMode
		external, ok bool
	}{{NodeReal, false, true}, {NodeSimulated, false, false}, {NodeReal, true, false}} {
		if err := s.chooseStore(l, test.mode, test.external); (err == nil) != test.ok ||
			err != nil && !strings.Contains(err.Error(), "make down") {
			t.Errorf("real and embedded, then %s and external %t: %v", test.mode, test.external, err)
		}
	}
}
