package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/kubesites/website-apiserver/hack/images"
)

const (
	systemNamespace = "website-system"
	siteNamespace   = "default"
	siteName        = "hello"
	group           = "mycontroller.nevermosby.io"
	// websites names the resource by its version, so that kubectl does not resolve it to
	// a CustomResourceDefinition.
	websites = "websites.v1beta1." + group

	// managedBy and managedByDeploy are the label of objects that "make deploy" has created.
	managedBy       = "app.kubernetes.io/managed-by"
	managedByDeploy = "make-deploy"

	// rolloutTimeout allows for nodes that pull images.
	rolloutTimeout = "--timeout=4m"
	// pollInterval is the time between two checks of a condition.
	pollInterval = time.Second
)

// deployment is an installation in a cluster.
type deployment struct {
	start           time.Time
	dir, context    string
	registry        string
	loader          *loader
	repository      string
	version, commit string
	date            time.Time
	all             bool
}

// run runs a command, and returns its standard output.
func run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("the tool %q is missing in PATH", args[0])
	}
	if err != nil {
		return string(stdout), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(stdout), nil
}

func (d *deployment) kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	return run(ctx, stdin, append([]string{"kubectl", "--context=" + d.context}, args...)...)
}

// report prints a completed step.
func (d *deployment) report(format string, args ...any) {
	fmt.Printf("%5.1fs  %s\n", time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}

// created reports whether an object exists, and whether "make deploy" has created it.
func (d *deployment) created(ctx context.Context, object ...string) (exists, own bool, err error) {
	const label = `jsonpath=by {.metadata.labels.app\.kubernetes\.io/managed-by}`
	args := append([]string{"get"}, object...)
	out, err := d.kubectl(ctx, "", append(args, "--ignore-not-found", "-o", label)...)
	return out != "", strings.TrimSpace(out) == "by "+managedByDeploy, err
}

// checkNamespace reports whether the namespace exists, and returns an error if another tool has
// created it.
func (d *deployment) checkNamespace(ctx context.Context) (exists bool, err error) {
	exists, own, err := d.created(ctx, "namespace", systemNamespace)
	if exists && !own {
		err = fmt.Errorf("namespace %s in context %s was not created by make deploy: upgrade and remove that installation"+
			" with the tool that made it, kubectl (apply -k, delete -k) or helm (upgrade, uninstall), see docs/install.md",
			systemNamespace, d.context)
	}
	return exists, err
}

// deploy installs the product, and publishes a page.
func (d *deployment) deploy(ctx context.Context) error {
	if _, err := d.checkNamespace(ctx); err != nil {
		return err
	}
	platforms, err := d.platforms(ctx)
	if err != nil {
		return err
	}
	d.report("building images")
	made, err := images.Make(ctx, images.Options{RepoDir: d.dir, Version: d.version, Commit: d.commit, Date: d.date,
		Platforms: platforms})
	if err != nil {
		return err
	}
	d.report("images of %s are built", d.tag())
	if err := d.distribute(ctx, made, platforms); err != nil {
		return err
	}
	overlay, err := d.overlay()
	if err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "", "apply", "-k", overlay); err != nil {
		return err
	}
	d.report("artifacts/default is applied in context %s", d.context)
	for _, program := range []string{"statefulset/website-apiserver", "deployment/website-controller"} {
		if _, err := d.kubectl(ctx, "", "rollout", "status", "--namespace="+systemNamespace, rolloutTimeout,
			program); err != nil {
			pods, _ := d.kubectl(ctx, "", "get", "pods", "--namespace="+systemNamespace)
			return fmt.Errorf("%w\n%s", err, pods)
		}
	}
	err = poll(ctx, time.Minute, func() error {
		_, err := d.kubectl(ctx, "", "get", "--raw=/apis/"+group+"/v1beta1")
		return err
	})
	if err != nil {
		return err
	}
	d.report("the API is served")
	return d.publish(ctx)
}

// platforms returns the platforms of the nodes.
func (d *deployment) platforms(ctx context.Context) ([]images.Platform, error) {
	out, err := d.kubectl(ctx, "", "get", "nodes", "-o", "jsonpath={.items[*].status.nodeInfo.architecture}")
	if err != nil {
		return nil, err
	}
	architectures := strings.Fields(out)
	slices.Sort(architectures)
	architectures = slices.Compact(architectures)
	if len(architectures) == 0 {
		return nil, fmt.Errorf("the cluster of context %q has no nodes", d.context)
	}
	if d.loader != nil && len(architectures) > 1 {
		return nil, fmt.Errorf("nodes are of %s: name a registry that they pull from (REGISTRY)",
			strings.Join(architectures, " and "))
	}
	var platforms []images.Platform
	for _, architecture := range architectures {
		platforms = append(platforms, images.Platform{OS: "linux", Arch: architecture})
	}
	return platforms, nil
}

// tag returns the tag of the images. With uncommitted changes it differs each time, as nodes keep
// an image of a known tag.
func (d *deployment) tag() string {
	commit, dirty := strings.CutSuffix(d.commit, "-dirty")
	tag := commit[:min(len(commit), 12)]
	if dirty {
		tag += "-" + d.start.UTC().Format("20060102150405")
	}
	return tag
}

// reference returns the name of an image with its tag.
func (d *deployment) reference(program images.Program) string {
	if d.registry == "" {
		return program.Image + ":" + d.tag()
	}
	return strings.TrimRight(d.registry, "/") + "/" + program.Name + ":" + d.tag()
}

// distribute loads the images into the nodes.
func (d *deployment) distribute(ctx context.Context, made []images.Made, platforms []images.Platform) error {
	if d.loader == nil {
		for _, image := range made {
			if err := push(ctx, d.reference(image.Program), image.Index); err != nil {
				return err
			}
		}
		d.report("images are in %s", d.registry)
		return nil
	}
	dir, err := os.MkdirTemp("", "website-images-")
	if err != nil {
		return fmt.Errorf("creating a directory for images: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var archives []string
	for _, image := range made {
		tag, err := name.NewTag(d.reference(image.Program))
		if err != nil {
			return err
		}
		// Every container engine loads the format of docker save.
		archive := filepath.Join(dir, image.Name+".tar")
		if err := tarball.WriteToFile(archive, tag, image.Images[platforms[0]]); err != nil {
			return fmt.Errorf("writing %s: %w", archive, err)
		}
		archives = append(archives, archive)
	}
	if err := d.loader.load(ctx, archives); err != nil {
		return err
	}
	d.report("images are loaded into %s", d.loader.about)
	return nil
}

// overlay writes a kustomization of artifacts/default with the images, and returns its directory.
func (d *deployment) overlay() (string, error) {
	dir := filepath.Join(d.dir, "dist", "deploy")
	var replaced []map[string]string
	for _, program := range images.Programs {
		reference := d.reference(program)
		i := strings.LastIndex(reference, ":")
		replaced = append(replaced, map[string]string{"name": program.Image, "newName": reference[:i],
			"newTag": reference[i+1:]})
	}
	label := fmt.Sprintf(`[{"op": "add", "path": "/metadata/labels/%s", "value": %q}]`,
		strings.ReplaceAll(managedBy, "/", "~1"), managedByDeploy)
	// JSON is YAML.
	files := map[string]any{
		"kustomization.yaml": map[string]any{
			"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
			"resources": []string{"../../artifacts/default"}, "images": replaced, "configurations": []string{"images.yaml"},
			"patches": []map[string]any{{"target": map[string]string{"kind": "Namespace"}, "patch": label}},
		},
		// A variable of website-controller contains the image of the agent.
		"images.yaml": map[string]any{
			"images": []map[string]string{{"path": "spec/template/spec/containers[]/env[]/value", "kind": "Deployment"}},
		},
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("creating the overlay: %w", err)
	}
	for file, content := range files {
		data, err := json.MarshalIndent(content, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), append(data, '\n'), 0o644)
		}
		if err != nil {
			return "", fmt.Errorf("writing the overlay: %w", err)
		}
	}
	return dir, nil
}

// stop is an error after which a check is not repeated.
type stop struct{ error }

// Unwrap returns the error itself.
func (s stop) Unwrap() error { return s.error }

// poll repeats a check until it succeeds.
func poll(ctx context.Context, timeout time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		err := check()
		if err == nil || errors.As(err, &stop{}) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pollInterval):
		}
	}
}
