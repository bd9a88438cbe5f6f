package devcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// kubernetesModuleOf returns the directory of the module that builds a version of Kubernetes. It
// is hack/kubernetes for an empty version and for the version that hack/kubernetes requires,
// and a module in the cache for other versions.
func kubernetesModuleOf(ctx context.Context, t toolchain, version, repoDir, cacheDir string,
	p *progress) (string, error) {
	if version == "" {
		return kubernetesModule, nil
	}
	m, err := readModule(ctx, filepath.Join(repoDir, kubernetesModule))
	if err != nil {
		return "", err
	}
	if required, err := m.version("k8s.io/kubernetes"); err != nil || required == version {
		return kubernetesModule, err
	}
	// The cache directory of the programs is named after the last element of this path.
	dir := filepath.Join(cacheDir, "modules", version, filepath.Base(kubernetesModule))
	if isFile(filepath.Join(dir, "go.mod")) {
		return dir, nil
	}
	step := p.step("choosing the Go modules of Kubernetes " + version)
	if err := writeKubernetesModule(ctx, t, version, repoDir, dir); err != nil {
		return "", step.failed(fmt.Errorf("making a module of Kubernetes %s: %w", version, err))
	}
	step.done("chosen")
	return dir, nil
}

// writeKubernetesModule writes a module with all dependencies of the control plane into a
// new directory.
func writeKubernetesModule(ctx context.Context, t toolchain, version, repoDir, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("creating the directory of the module: %w", err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".making-")
	if err != nil {
		return fmt.Errorf("creating the directory of the module: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	out, err := output(ctx, temp, "go", "mod", "download", "-json", "k8s.io/kubernetes@"+version)
	if err != nil {
		return fmt.Errorf("downloading k8s.io/kubernetes: %w", err)
	}
	var download struct{ GoMod string }
	if err := json.Unmarshal([]byte(out), &download); err != nil {
		return fmt.Errorf("reading the output of go mod download: %w", err)
	}
	goMod, err := os.ReadFile(download.GoMod)
	if err != nil {
		return fmt.Errorf("reading go.mod of k8s.io/kubernetes: %w", err)
	}
	if err := writeFile(filepath.Join(temp, "go.mod"), goMod, 0o644); err != nil {
		return err
	}
	m, err := readModule(ctx, temp)
	if err != nil {
		return err
	}
	edits := []string{"mod", "edit", "-module=kubernetes", "-toolchain=" + t.goVersion,
		"-require=k8s.io/kubernetes@" + version}
	if _, err := output(ctx, temp, "go", append(edits, stagingReplacements(m, version)...)...); err != nil {
		return fmt.Errorf("writing go.mod: %w", err)
	}
	sources, err := filepath.Glob(filepath.Join(repoDir, kubernetesModule, "*.go"))
	if err != nil {
		return fmt.Errorf("finding the source of the Kubernetes programs: %w", err)
	}
	for _, source := range sources {
		code, err := os.ReadFile(source)
		if err != nil {
			return fmt.Errorf("reading the source of the Kubernetes programs: %w", err)
		}
		if err := writeFile(filepath.Join(temp, filepath.Base(source)), code, 0o644); err != nil {
			return err
		}
	}
	// With -mod=mod, go list completes go.mod and go.sum.
	if _, err := output(ctx, temp, "go", "list", "-mod=mod", "-deps", ".", kubectlPackage); err != nil {
		return fmt.Errorf("downloading the modules that k8s.io/kubernetes requires: %w", err)
	}
	// Another process may have created dir meanwhile.
	if err := os.Rename(temp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("naming the module: %w", err)
	}
	return nil
}

// stagingReplacements returns arguments of "go mod edit". The go.mod of k8s.io/kubernetes
// replaces the staging modules with local directories. The arguments replace these with the
// published modules instead.
func stagingReplacements(m module, version string) (edits []string) {
	published := "v0." + strings.TrimPrefix(version, "v1.")
	for _, r := range m.Replace {
		if strings.HasPrefix(r.New.Path, "./") {
			edits = append(edits, fmt.Sprintf("-replace=%[1]s=%[1]s@%[2]s", r.Old.Path, published))
		}
	}
	return edits
}
