package devcluster

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func testRepo(t *testing.T) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	repo, err := findRepo(wd)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func TestVersionComesFromGoMod(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "go.mod"), "module example.org/m\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes "+
		"v1.99.7 // indirect\n\tk8s.io/api v0.99.7\n)\n")
	m, err := readModule(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.version("k8s.io/kubernetes"); err != nil || got != "v1.99.7" {
		t.Errorf("version = %q, %v", got, err)
	}
	if _, err := m.version("k8s.io/absent"); err == nil || !strings.Contains(err.Error(), "k8s.io/absent") {
		t.Errorf("version of a module that is not required: %v", err)
	}
}

func TestVersionFlags(t *testing.T) {
	flags, err := versionFlags("v1.99.7")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.99.7", "-X k8s.io/client-go/pkg/version.gitVersion=v1.99.7",
		"-X k8s.io/component-base/version.gitMajor=1", "-X k8s.io/component-base/version.gitMinor=99",
	} {
		if !strings.Contains(flags+" ", want+" ") {
			t.Errorf("flags lack %q: %s", want, flags)
		}
	}
	for _, bad := range []string{"", "1.2.3", "v1.2"} {
		if _, err := versionFlags(bad); err == nil {
			t.Errorf("version %q was accepted", bad)
		}
	}
}

// TestStagingReplacements tests the modules in directories of k8s.io/kubernetes, which
// its go.mod replaces.
func TestStagingReplacements(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "go.mod"), "module k8s.io/kubernetes\n\ngo 1.24.0\n\nreplace (\n\tk8s.io/api => "+
		"./staging/src/k8s.io/api\n\texample.org/a => example.org/b v1.0.0\n)\n")
	m, err := readModule(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-replace=k8s.io/api=k8s.io/api@v0.34.4"}
	if got := stagingReplacements(m, "v1.34.4"); !slices.Equal(got, want) {
		t.Errorf("replacements = %v, want %v", got, want)
	}
}

// TestRequiredVersion reads the module of the checkout.
func TestRequiredVersion(t *testing.T) {
	repo := testRepo(t)
	m, err := readModule(t.Context(), filepath.Join(repo, kubernetesModule))
	if err != nil {
		t.Fatal(err)
	}
	required, err := m.version("k8s.io/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"", required} {
		if dir, err := kubernetesModuleOf(t.Context(), toolchain{}, version, repo, t.TempDir(),
			newProgress(&strings.Builder{})); err != nil || dir != kubernetesModule {
			t.Errorf("version %q is built from %s, %v", version, dir, err)
		}
	}
}

func TestCacheKey(t *testing.T) {
	dir := t.TempDir()
	mod, sum := filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")
	tools := toolchain{goVersion: "go1.26.8", goos: "linux", goarch: "amd64"}
	key := func(change func(*toolchain)) string {
		t.Helper()
		changed := tools
		change(&changed)
		key, err := cacheKey(dir, changed, "-s")
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	same := func(*toolchain) {}
	writeTestFile(t, mod, "module m\n")
	writeTestFile(t, sum, "one\n")
	first := key(same)
	seen := map[string]string{first: "nothing"}
	check := func(what, key string) {
		if other, ok := seen[key]; ok {
			t.Errorf("changing %s gives the key of changing %s", what, other)
		}
		seen[key] = what
	}
	check("Go's version", key(func(tools *toolchain) { tools.goVersion = "go1.26.9" }))
	check("the architecture", key(func(tools *toolchain) { tools.goarch = "arm64" }))
	check("the system", key(func(tools *toolchain) { tools.goos = "darwin" }))
	writeTestFile(t, sum, "two\n")
	check("go.sum", key(same))
	writeTestFile(t, mod, "module m2\n")
	check("go.mod", key(same))
	writeTestFile(t, filepath.Join(dir, "main.go"), "package main\n")
	check("the code", key(same))
}

func TestEverySetNamesItsVersionAndPrograms(t *testing.T) {
	tools := toolchain{goVersion: "go1.26.8", goos: "linux", goarch: "amd64"}
	names := map[string]bool{}
	for _, set := range programSets {
		version, targets, err := set.targets(t.Context(), tools, testRepo(t), "/cache")
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets {
			names[target.name] = true
			if !strings.HasPrefix(target.path, "/cache/") || !strings.Contains(target.path, version) {
				t.Errorf("%s is cached as %s, want a path with version %s", target.name, target.path, version)
			}
		}
	}
	for _, want := range []string{etcd, kubeAPIServer, kubeControllerManager, kubeScheduler, kubectl, kubelet, kubeProxy,
		kwok, kwokStages} {
		if !names[want] {
			t.Errorf("nothing builds %s", want)
		}
	}
}

func TestCacheHoldsOnlyCompleteFiles(t *testing.T) {
	p := newProgress(&strings.Builder{})
	directory := filepath.Join(t.TempDir(), "cache")
	fails := errors.New("linker ran out of memory")
	build := target{name: "etcd", path: filepath.Join(directory, "etcd")}
	build.build = func(_ context.Context, out string, _ *step) error {
		writeTestFile(t, out, "half a program")
		if isFile(build.path) {
			t.Error("the file is in the cache before it is complete")
		}
		return fails
	}
	s := p.step("building")
	if err := s.failed(build.make(t.Context(), s)); !errors.Is(err, fails) {
		t.Errorf("make = %v", err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) > 0 {
		t.Errorf("a failed build left %v (%v)", entries, err)
	}
	build.build = func(_ context.Context, out string, _ *step) error {
		return os.WriteFile(out, []byte("program"), 0o700)
	}
	s = p.step("building")
	if err := build.make(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.done("built")
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 1 || !isFile(build.path) {
		t.Errorf("a build left %v (%v)", entries, err)
	}
}

func TestMissingToolIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := findToolchain(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "missing in PATH") {
		t.Errorf("findToolchain = %v", err)
	}
}

func TestCompilationReportsWhatFails(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "go.mod"), "module example.org/m\n\ngo 1.26.0\n")
	writeTestFile(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() { undefinedName() }\n")
	c := compilation{dir: dir, pkg: ".", out: filepath.Join(dir, "program")}
	s := newProgress(io.Discard).step("building")
	err := s.failed(c.run(t.Context(), s, ""))
	if err == nil || !strings.Contains(err.Error(), "undefinedName") {
		t.Errorf("run = %v, want the compiler's message", err)
	}
	writeTestFile(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() { println(42) }\n")
	s = newProgress(io.Discard).step("building")
	err = c.run(t.Context(), s, "program, ")
	s.done("built")
	if err != nil {
		t.Fatal(err)
	}
	if !isFile(c.out) || !strings.HasPrefix(s.detail, "program, ") {
		t.Errorf("no program at %s, or nothing said about it: %q", c.out, s.detail)
	}
}
