package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// exampleTimeout covers scheduling and, on a real node, fetching images.
const exampleTimeout = 3 * time.Minute

// ApplyExample applies artifacts/examples/kubia.yaml unless the Website exists, and waits
// until it is available. One that exists may have been changed by its user: it is left
// as it is, and not waited for if they asked for no replicas.
func (c *Cluster) ApplyExample(ctx context.Context) error {
	path := filepath.Join(c.plan.options.RepoDir, "artifacts", "examples", "kubia.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the example Website: %w", err)
	}
	var example unstructured.Unstructured
	if err := yaml.Unmarshal(data, &example.Object); err != nil {
		return fmt.Errorf("parsing %s: %w", path, err)
	}
	config, err := c.AdminConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	version, err := schema.ParseGroupVersion(example.GetAPIVersion())
	if err != nil {
		return fmt.Errorf("parsing %s: %w", path, err)
	}
	namespace := example.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	websites := client.Resource(version.WithResource("websites")).Namespace(namespace)

	step := c.progress.step("Website " + example.GetName())
	how := "exists"
	_, err = websites.Get(ctx, example.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		how = "applied " + path
		var stderr string
		if _, stderr, err = c.Kubectl(ctx, "apply", "--namespace", namespace, "-f", path); err != nil {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr))
		}
	}
	if err != nil {
		return step.failed(fmt.Errorf("creating the example Website: %w", err))
	}
	step.set("waiting until it is available")
	var available int64
	err = c.await(ctx, "Website "+example.GetName()+" to be available", exampleTimeout, func(ctx context.Context) error {
		website, err := websites.Get(ctx, example.GetName(), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		available, err = websiteAvailable(website)
		return err
	})
	if err != nil {
		return step.failed(err)
	}
	step.done("%s, %d available", how, available)
	return nil
}

// websiteAvailable returns the available replicas, with an error if they are too few.
func websiteAvailable(website *unstructured.Unstructured) (int64, error) {
	want, found, err := unstructured.NestedInt64(website.Object, "spec", "replicas")
	if err != nil {
		return 0, fmt.Errorf("reading spec.replicas: %w", err)
	}
	if !found {
		want = 1
	}
	have, _, err := unstructured.NestedInt64(website.Object, "status", "availableReplicas")
	if err != nil {
		return 0, fmt.Errorf("reading status.availableReplicas: %w", err)
	}
	if have < want {
		return have, fmt.Errorf("%d of %d replicas are available", have, want)
	}
	return have, nil
}
