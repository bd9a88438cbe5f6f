package devcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// exampleTimeout covers scheduling and, on a real node, fetching the repository.
const exampleTimeout = 3 * time.Minute

// ApplyExample creates an example Website unless it exists, and waits until it is
// available. An existing one is not changed: it may have no replicas, or no page.
//
// On a simulated node, the example is artifacts/examples/kubia.yaml. Pods of a real node
// have no internet access, so its repository is one of the cluster's git server, filled from
// artifacts/examples/site. url is the URL of its page, which has been fetched once; empty if it
// has no replicas, or is served at no port of the node.
func (c *Cluster) ApplyExample(ctx context.Context) (url string, err error) {
	example, how, err := c.example(ctx)
	if err != nil {
		return "", fmt.Errorf("preparing the example Website: %w", err)
	}
	existed, err := c.applyWebsite(ctx, example, how)
	if err != nil {
		return "", err
	}
	if c.plan.options.Node != NodeReal {
		return "", nil
	}
	return c.openExample(ctx, example.GetNamespace(), example.GetName(), existed)
}

// example returns the Website to create and a description of its source.
func (c *Cluster) example(ctx context.Context) (website *unstructured.Unstructured, how string, err error) {
	if c.plan.options.Node == NodeReal {
		website, err := c.ownExample(ctx)
		return website, "created with repository " + c.GitRepositoryPath(exampleRepository), err
	}
	path := filepath.Join(c.plan.options.RepoDir, "artifacts", "examples", "kubia.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	website = &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &website.Object); err != nil {
		return nil, "", fmt.Errorf("parsing %s: %w", path, err)
	}
	return website, "created from " + path, nil
}

// applyWebsite creates a Website unless it exists, and waits until it is available.
func (c *Cluster) applyWebsite(ctx context.Context, example *unstructured.Unstructured,
	how string) (existed bool, err error) {
	config, err := c.AdminConfig()
	if err != nil {
		return false, err
	}
	// The example has the first version on purpose, so its deprecation warning is suppressed.
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return false, fmt.Errorf("creating a client: %w", err)
	}
	version, err := schema.ParseGroupVersion(example.GetAPIVersion())
	if err != nil {
		return false, fmt.Errorf("reading the version of the example Website: %w", err)
	}
	if example.GetNamespace() == "" {
		example.SetNamespace(metav1.NamespaceDefault)
	}
	websites := client.Resource(version.WithResource("websites")).Namespace(example.GetNamespace())

	step := c.progress.step("Website " + example.GetName())
	_, err = websites.Create(ctx, example, metav1.CreateOptions{FieldManager: fieldManager})
	if apierrors.IsAlreadyExists(err) {
		existed, how, err = true, "exists", nil
	}
	if err != nil {
		return false, step.failed(fmt.Errorf("creating the example Website: %w", err))
	}
	step.set("waiting for its replicas")
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
		return existed, step.failed(err)
	}
	step.done("%s, %d available", how, available)
	return existed, nil
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
