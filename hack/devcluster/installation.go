package devcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

const (
	// rolloutTimeout allows for unpacking images, and for the shutdown of former pods.
	rolloutTimeout = "--timeout=4m"
	// volumeUser is the user of the programs in artifacts. Their group has no effect on
	// a directory of the node.
	volumeUser = 65532
)

// volumeManifest is a default StorageClass with one volume, a directory of the node, for the claim of
// artifacts/default.
const volumeManifest = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: kubernetes.io/no-provisioner
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: devcluster}
spec:
  storageClassName: standard
  accessModes: [ReadWriteOnce]
  capacity: {storage: 8Gi}
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: %q}
`

// workloads are the workloads of the installation's programs, by their names.
var workloads = []struct{ name, kind string }{
	{websiteAPIServer, "StatefulSet"},
	{websiteController, "Deployment"},
}

// install installs the product on a real node as its users do, from artifacts/default, and
// waits until the API is served and the pods have the current images.
func (c *Cluster) install(ctx context.Context, client kubernetes.Interface, registration aggregator.Interface) error {
	step := c.progress.step("installation")
	archives, err := c.plan.productArchives()
	if err != nil {
		return step.failed(err)
	}
	l := c.plan.layout
	if err := errors.Join(os.MkdirAll(l.volume(), 0o750), os.Chown(l.volume(), volumeUser, volumeUser)); err != nil {
		return step.failed(fmt.Errorf("creating a volume: %w", err))
	}
	if err := writeInstallation(l, c.plan.options.RepoDir, archives, c.plan.controllerFlags()); err != nil {
		return step.failed(err)
	}
	step.set("applying %s", l.installation())
	if _, err := c.kubectl(ctx, "", "apply", "-k", l.installation()); err != nil {
		return step.failed(err)
	}
	for _, w := range workloads {
		step.set("waiting for the pods of %s", w.name)
		if err := c.kubectlWait(ctx, "rollout", "status", "--namespace="+websiteNamespace, rolloutTimeout,
			w.kind+"/"+w.name); err != nil {
			pods, _ := c.kubectl(ctx, "", "get", "pods", "--namespace="+websiteNamespace)
			return step.failed(fmt.Errorf("%w\n%s", err, pods))
		}
	}
	step.set("waiting until the API is available")
	err = c.await(ctx, "the website API to be available", func(ctx context.Context) error {
		return apiServicesAvailable(ctx, registration, client.Discovery())
	})
	if err == nil {
		err = c.forgetDiscovery()
	}
	if err != nil {
		return step.failed(err)
	}
	step.done("artifacts/default, %s is available", websiteGroup)
	return nil
}

// controllerFlags returns the flags of website-controller besides those in artifacts.
func (p *plan) controllerFlags() []string {
	if !p.options.Gateway {
		return nil
	}
	return []string{"--default-gateway=" + GatewayNamespace + "/" + GatewayName}
}

// productArchives returns the names of the archives of the programs' images. Each is a hash
// of the image's inputs.
func (p *plan) productArchives() (map[string]string, error) {
	archives := map[string]string{}
	for _, r := range recipes {
		if !r.product {
			continue
		}
		archive, err := r.archive(p)
		if err != nil {
			return nil, err
		}
		archives[r.program] = filepath.Base(archive)
	}
	return archives, nil
}

// writeInstallation writes an overlay of artifacts/default with its volume. It writes the names of the
// image archives into the pods' annotations, because a rebuilt image has the same tag:
// another archive results in another pod. Flags are appended to website-controller's.
func writeInstallation(l layout, repo string, archives map[string]string, controllerFlags []string) error {
	directory, err := filepath.EvalSymlinks(l.dir)
	if err == nil {
		repo, err = filepath.EvalSymlinks(repo)
	}
	var base string
	if err == nil {
		// Kustomize rejects absolute paths.
		base, err = filepath.Rel(filepath.Join(directory, filepath.Base(l.installation())),
			filepath.Join(repo, "artifacts", "default"))
	}
	if err != nil {
		return fmt.Errorf("finding the manifests of the installation: %w", err)
	}
	var patches []any
	for _, w := range workloads {
		patches = append(patches, map[string]string{"patch": fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": %q, `+
			`"metadata": {"name": %q, "namespace": %q}, "spec": {"template": {"metadata": {"annotations": {%q: %q}}}}}`,
			w.kind, w.name, websiteNamespace, archiveLabel, archives[w.name])})
	}
	for _, flag := range controllerFlags {
		patches = append(patches, map[string]any{
			"patch":  fmt.Sprintf(`[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": %q}]`, flag),
			"target": map[string]string{"kind": "Deployment", "name": websiteController},
		})
	}
	const volume = "volume.yaml"
	// JSON is YAML.
	data, err := json.MarshalIndent(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{base, volume},
		"patches": patches,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the installation: %w", err)
	}
	if err := os.MkdirAll(l.installation(), 0o700); err != nil {
		return fmt.Errorf("creating the directory of the installation: %w", err)
	}
	return errors.Join(
		writeFile(filepath.Join(l.installation(), volume), fmt.Appendf(nil, volumeManifest, l.volume()), 0o600),
		writeFile(filepath.Join(l.installation(), "kustomization.yaml"), append(data, '\n'), 0o600))
}
