package devcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The go.mod files of these modules, relative to the checkout, have the versions of
// the Kubernetes programs.
const (
	kubernetesModule = "hack/kubernetes"
	kwokModule       = "hack/kwok"
	containerdModule = "hack/containerd"
	sampleModule     = "hack/sample-apiserver"
)

// program is one Kubernetes program to build.
type program struct {
	name string
	pkg  string
	// packages is the number of its packages that are compiled without a build cache, after
	// earlier programs.
	packages int
}

// programSet are the programs built from one module.
type programSet struct {
	// dir is relative to the checkout, or absolute.
	dir string
	// versionOf is the module that determines the version of the set.
	versionOf string
	// stamp is set if the linker must write the version into the programs.
	stamp bool
	// ldflags are the flags of the linker for programs of this repository.
	ldflags string
	// node is the only mode that needs the set; empty: all modes.
	node     NodeMode
	programs []program
	// links are the names of the commands in the first of the programs.
	links []string
	// extra are files of versionOf, relative to it, that are joined and cached under a name.
	extra map[string][]string
}

// kubectlPackage is the main package of kubectl.
const kubectlPackage = "k8s.io/kubernetes/cmd/kubectl"

// kwokStages is the cached file with kwok's default behaviour of nodes and pods.
const kwokStages = "kwok-stages.yaml"

var programSets = []programSet{
	{
		dir: kubernetesModule, versionOf: "k8s.io/kubernetes", stamp: true,
		programs: []program{
			{"kubernetes", ".", 2260},
			// It runs a thousand times, and starts in half the time without the code of the others.
			{kubectl, kubectlPackage, 2},
		},
		links: []string{etcd, kubeAPIServer, kubeControllerManager, kubeScheduler, kubelet, kubeProxy},
	},
	{
		// containerd looks for its shim and the plugins in its own directory.
		dir: containerdModule, versionOf: "github.com/containerd/containerd/v2", node: NodeReal,
		programs: []program{
			{containerd, "github.com/containerd/containerd/v2/cmd/containerd", 550},
			{"containerd-shim-runc-v2", "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", 15},
			{ctr, "github.com/containerd/containerd/v2/cmd/ctr", 15},
			{"ptp", "github.com/containernetworking/plugins/plugins/main/ptp", 2},
			{"host-local", "github.com/containernetworking/plugins/plugins/ipam/host-local", 2},
			{"portmap", "github.com/containernetworking/plugins/plugins/meta/portmap", 2},
		},
	},
	{
		dir: coreDNSModule, versionOf: "github.com/coredns/coredns", node: NodeReal,
		programs: []program{{coreDNS, ".", 90}},
	},
	{
		dir: kwokModule, versionOf: "sigs.k8s.io/kwok", node: NodeSimulated,
		programs: []program{{kwok, "sigs.k8s.io/kwok/cmd/kwok", 100}},
		extra: map[string][]string{kwokStages: {
			"kustomize/stage/node/fast/node-initialize.yaml",
			"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
			"kustomize/stage/pod/fast/pod-ready.yaml",
			"kustomize/stage/pod/fast/pod-complete.yaml",
			"kustomize/stage/pod/fast/pod-delete.yaml",
		}},
	},
}

// programs are the paths of built programs and their extra files, by name.
type programs map[string]string

// target is one file of the cache.
type target struct {
	name, path string
	packages   int
	build      func(ctx context.Context, out string, s *step) error
}

// buildKubernetes ensures that the Kubernetes programs for the node mode are in the cache.
func buildKubernetes(ctx context.Context, t toolchain, options Options, p *progress) (programs, error) {
	kubernetesDir, err := kubernetesModuleOf(ctx, t, options.KubernetesVersion, options.RepoDir, options.CacheDir, p)
	if err != nil {
		return nil, err
	}
	var sets []programSet
	wanted := programSets
	if options.Gateway {
		wanted = slices.Concat(programSets, gatewaySets)
	}
	for _, set := range wanted {
		if set.node != "" && set.node != options.Node {
			continue
		}
		if set.dir == kubernetesModule {
			set.dir = kubernetesDir
		}
		sets = append(sets, set)
	}
	return buildCached(ctx, t, options.RepoDir, options.CacheDir, sets, p)
}

// buildCached ensures that the programs of sets are in the cache.
func buildCached(ctx context.Context, t toolchain, repoDir, cacheDir string, sets []programSet,
	p *progress) (programs, error) {
	paths := programs{}
	var targets []target
	var versions []string
	for _, set := range sets {
		version, found, err := set.targets(ctx, t, repoDir, cacheDir)
		if err != nil {
			return nil, err
		}
		if name := set.versionOf + " " + version; !slices.Contains(versions, name) {
			versions = append(versions, name)
		}
		for _, target := range found {
			paths[target.name] = target.path
		}
		targets = append(targets, found...)
	}
	title := strings.Join(versions, ", ")
	if len(notCached(targets)) == 0 {
		p.printf("%s: cached in %s", title, cacheDir)
		return paths, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return nil, fmt.Errorf("creating the cache directory: %w", err)
	}
	lock, err := lockFile(ctx, filepath.Join(cacheDir, "lock"), func() {
		p.printf("%s: waiting for another build that writes to %s", title, cacheDir)
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()

	missing := notCached(targets) // a concurrent build may have built some
	for _, target := range missing {
		p.expect(target.packages)
	}
	p.printf("building %s, which takes minutes; the result is cached in %s", title, cacheDir)
	for i, target := range missing {
		step := p.step(fmt.Sprintf("building %s (%d of %d)", target.name, i+1, len(missing)))
		step.packages = target.packages
		if err := target.make(ctx, step); err != nil {
			return nil, step.failed(fmt.Errorf("building %s: %w", target.name, err))
		}
		step.done("built")
	}
	return paths, nil
}

func notCached(targets []target) []target {
	return slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return isFile(t.path) })
}

// make builds into a temporary directory beside the target and renames the result, so that
// a file in the cache is always complete.
func (t target) make(ctx context.Context, s *step) error {
	dir := filepath.Dir(t.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the cache directory: %w", err)
	}
	temp, err := os.MkdirTemp(dir, ".building-")
	if err != nil {
		return fmt.Errorf("creating a directory to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	out := filepath.Join(temp, t.name)
	if err := t.build(ctx, out, s); err != nil {
		return err
	}
	if err := os.Rename(out, t.path); err != nil {
		return fmt.Errorf("moving the result into the cache: %w", err)
	}
	return nil
}

// targets lists the files of the set, in a cache directory whose name is a hash of their inputs.
func (set programSet) targets(ctx context.Context, t toolchain, repoDir, cacheDir string) (string, []target, error) {
	dir := set.dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(repoDir, dir)
	}
	m, err := readModule(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	version, err := m.version(set.versionOf)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", dir, err)
	}
	ldflags := "-s -w"
	if set.stamp {
		stamp, err := versionFlags(version)
		if err != nil {
			return "", nil, err
		}
		ldflags += " " + stamp
	}
	key, err := cacheKey(dir, t, ldflags)
	if err != nil {
		return "", nil, err
	}
	directory := filepath.Join(cacheDir, fmt.Sprintf("%s-%s-%s", filepath.Base(set.dir), version, key))
	var targets []target
	for _, program := range set.programs {
		c := compilation{dir: dir, pkg: program.pkg, ldflags: ldflags, stripped: set.versionOf}
		targets = append(targets, target{name: program.name, path: filepath.Join(directory, program.name),
			packages: program.packages,
			build: func(ctx context.Context, out string, s *step) error {
				c := c
				c.out = out
				return c.run(ctx, s, "")
			}})
	}
	for _, name := range set.links {
		targets = append(targets, target{name: name, path: filepath.Join(directory, name),
			build: func(_ context.Context, out string, _ *step) error {
				return os.Symlink(set.programs[0].name, out)
			}})
	}
	for name, files := range set.extra {
		targets = append(targets, target{name: name, path: filepath.Join(directory, name),
			build: func(ctx context.Context, out string, _ *step) error {
				return set.join(ctx, dir, files, out)
			}})
	}
	return version, targets, nil
}

// join writes YAML files of the set's module as one. The cached file stays available
// when the module is removed from the module cache.
func (set programSet) join(ctx context.Context, dir string, files []string, out string) error {
	from, err := output(ctx, dir, "go", "list", "-m", "-f", "{{.Dir}}", set.versionOf)
	if err != nil {
		return fmt.Errorf("finding the source of %s: %w", set.versionOf, err)
	}
	var all []byte
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			return fmt.Errorf("reading a file of %s: %w", set.versionOf, err)
		}
		all = append(append(all, "---\n"...), data...)
	}
	return writeFile(out, all, 0o644)
}

// cacheKey is a hash of all inputs of a module's programs. The module has code in its own
// directory only.
func cacheKey(dir string, t toolchain, ldflags string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", fmt.Errorf("computing the cache key: %w", err)
	}
	inputs, err := hashFiles(append(files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"))...)
	if err != nil {
		return "", fmt.Errorf("computing the cache key: %w", err)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{inputs, t.goVersion, t.goos, t.goarch, ldflags}, "\n")))
	return hex.EncodeToString(sum[:6]), nil
}

// versionFlags returns the linker flags that make Kubernetes programs report their
// version. Without them the version is v0.0.0-master, which breaks kubectl version and
// clients that compare versions.
func versionFlags(version string) (string, error) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if !strings.HasPrefix(version, "v") || len(parts) != 3 {
		return "", errors.New("the version of k8s.io/kubernetes is " + version + ", want vMAJOR.MINOR.PATCH")
	}
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, value := range []struct{ name, value string }{
			{"gitVersion", version},
			{"gitMajor", parts[0]},
			{"gitMinor", parts[1]},
			// The commit of a Go module is unknown; "archive" means sources outside git.
			{"gitCommit", "unknown"},
			{"gitTreeState", "archive"},
		} {
			flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, value.name, value.value))
		}
	}
	return strings.Join(flags, " "), nil
}
