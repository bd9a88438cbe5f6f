package devcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

const (
	// programLabel is the label of the pods of a program, see artifacts/base.
	programLabel = "app.kubernetes.io/name"
	// installationTimeout allows for unpacking images, and for the shutdown of former pods.
	installationTimeout = 4 * time.Minute
)

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
	if err := provideVolume(ctx, client, l); err != nil {
		return step.failed(err)
	}
	if err := writeInstallation(l, c.plan.options.RepoDir, archives, c.plan.controllerFlags()); err != nil {
		return step.failed(err)
	}
	step.set("applying %s", l.installation())
	if _, stderr, err := c.Kubectl(ctx, "apply", "-k", l.installation()); err != nil {
		return step.failed(fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr)))
	}
	step.set("waiting for its pods")
	err = c.await(ctx, "the installation", installationTimeout, func(ctx context.Context) error {
		err := rolledOut(ctx, client)
		if err == nil {
			err = apiServicesAvailable(ctx, registration, client.Discovery())
		}
		if err != nil {
			step.set("%v", err)
		}
		return err
	})
	if err != nil {
		return step.failed(err)
	}
	if err := c.forgetDiscovery(); err != nil {
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

// writeInstallation writes an overlay of artifacts/default. It writes the names of the
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
		annotations := map[string]any{"annotations": map[string]string{archiveLabel: archives[w.name]}}
		patch, err := json.Marshal(map[string]any{
			"apiVersion": appsv1.SchemeGroupVersion.String(), "kind": w.kind,
			"metadata": map[string]string{"name": w.name, "namespace": websiteNamespace},
			"spec":     map[string]any{"template": map[string]any{"metadata": annotations}},
		})
		if err != nil {
			return fmt.Errorf("encoding a patch of the installation: %w", err)
		}
		patches = append(patches, map[string]string{"patch": string(patch)})
	}
	for _, flag := range controllerFlags {
		patch, err := json.Marshal(
			[]any{map[string]string{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": flag}},
		)
		if err != nil {
			return fmt.Errorf("encoding a patch of the installation: %w", err)
		}
		patches = append(
			patches, map[string]any{"patch": string(patch),
				"target": map[string]string{"kind": "Deployment", "name": websiteController}},
		)
	}
	// JSON is YAML.
	data, err := json.MarshalIndent(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []string{base},
		"patches": patches,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the installation: %w", err)
	}
	if err := os.MkdirAll(l.installation(), 0o700); err != nil {
		return fmt.Errorf("creating the directory of the installation: %w", err)
	}
	return writeFile(filepath.Join(l.installation(), "kustomization.yaml"), append(data, '\n'), 0o600)
}

// rolledOut returns an error until the pods of the installation are ready, and pods of
// former templates are gone.
func rolledOut(ctx context.Context, client kubernetes.Interface) error {
	server, err := client.AppsV1().StatefulSets(websiteNamespace).Get(ctx, websiteAPIServer, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading StatefulSet %s: %w", websiteAPIServer, err)
	}
	if s := server.Status; s.ObservedGeneration < server.Generation || s.UpdateRevision != s.CurrentRevision ||
		s.ReadyReplicas < *server.Spec.Replicas {
		return notRolledOut(ctx, client, websiteAPIServer)
	}
	controller, err := client.AppsV1().Deployments(websiteNamespace).Get(ctx, websiteController, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading Deployment %s: %w", websiteController, err)
	}
	if s := controller.Status; s.ObservedGeneration < controller.Generation || s.Replicas != s.UpdatedReplicas ||
		s.AvailableReplicas < *controller.Spec.Replicas {
		return notRolledOut(ctx, client, websiteController)
	}
	return nil
}

// notRolledOut describes the state of a program's pods.
func notRolledOut(ctx context.Context, client kubernetes.Interface, program string) error {
	pods, err := podsOf(ctx, client, program)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if why := podWaits(&pod); why != "" {
			return fmt.Errorf("pod %s is not ready: %s", pod.Name, why)
		}
	}
	return fmt.Errorf("%s is not rolled out", program)
}

func podsOf(ctx context.Context, client kubernetes.Interface, program string) ([]corev1.Pod, error) {
	pods, err := client.CoreV1().Pods(websiteNamespace).List(ctx,
		metav1.ListOptions{LabelSelector: programLabel + "=" + program})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of %s: %w", program, err)
	}
	return pods.Items, nil
}

// podWaits returns the reason why a pod is not ready, or "".
func podWaits(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		waiting, last := status.State.Waiting, status.LastTerminationState.Terminated
		switch {
		case waiting != nil && last != nil:
			return fmt.Sprintf("%s: its container ended with exit code %d: kubectl logs --previous --namespace=%s %s",
				waiting.Reason, last.ExitCode, pod.Namespace, pod.Name)
		case waiting != nil:
			return strings.TrimSuffix(waiting.Reason+": "+waiting.Message, ": ")
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Status == corev1.ConditionTrue || condition.Type != corev1.PodScheduled &&
			condition.Type != corev1.PodReady {
			continue
		}
		return strings.TrimSuffix(condition.Reason+": "+condition.Message, ": ")
	}
	if len(pod.Status.Conditions) == 0 {
		return string(pod.Status.Phase)
	}
	return ""
}
