package devcluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
)

const (
	exampleName       = "example"
	exampleRepository = "example"
	exampleDeployment = "example-website"
)

// ownExample is a Website whose repository is on the cluster's own git server. Content
// that its user has pushed stays.
func (c *Cluster) ownExample(ctx context.Context) (*unstructured.Unstructured, error) {
	branch := filepath.Join(c.GitRepositoryPath(exampleRepository), "refs", "heads")
	if branches, err := os.ReadDir(branch); err != nil || len(branches) == 0 {
		content := filepath.Join(c.plan.options.RepoDir, "artifacts", "examples", "site")
		if _, err := c.CommitToRepository(ctx, exampleRepository, content, "Publish the example site"); err != nil {
			return nil, err
		}
	}
	repository := c.GitServerURL() + "/" + exampleRepository + ".git"
	if c.plan.options.Gateway {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": websiteGroup + "/v1beta1",
			"kind":       "Website",
			"metadata":   map[string]any{"name": exampleName},
			"spec": map[string]any{
				"deploymentName": exampleDeployment,
				"source":         map[string]any{"repository": repository},
				"hosts":          []any{exampleHost},
			},
		}}, nil
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": websiteGroup + "/v1alpha1",
		"kind":       "Website",
		"metadata":   map[string]any{"name": exampleName},
		"spec": map[string]any{
			"deploymentName": exampleDeployment,
			"gitRepo":        repository,
			"replicas":       int64(1),
		},
	}}, nil
}

// NodePortURL is where this machine reaches the first port of a Service of type NodePort,
// with a slash at the end. It needs a real node.
func (c *Cluster) NodePortURL(ctx context.Context, namespace, service string) (string, error) {
	config, err := c.AdminConfig()
	if err != nil {
		return "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("creating a client: %w", err)
	}
	s, err := client.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading Service %s: %w", service, err)
	}
	if c.NodeAddress() == "" || len(s.Spec.Ports) == 0 || s.Spec.Ports[0].NodePort == 0 {
		return "", fmt.Errorf("the Service %s has no port on a real node", service)
	}
	return "http://" + net.JoinHostPort(c.NodeAddress(), strconv.Itoa(int(s.Spec.Ports[0].NodePort))) + "/", nil
}

// openExample fetches the example's page as its user will: by its host at the Gateway, if it has
// one, or through its NodePort.
func (c *Cluster) openExample(ctx context.Context, example *unstructured.Unstructured) (string, error) {
	if replicas, found, err := unstructured.NestedInt64(example.Object, "spec", "replicas"); err == nil && found && replicas == 0 {
		return "", nil
	}
	step := c.progress.step("page of the example")
	transport := &http.Transport{DisableKeepAlives: true}
	url := ""
	stdout, _, err := c.Kubectl(ctx, "get", "website", example.GetName(), "--namespace="+example.GetNamespace(), "--output=jsonpath={.spec.hosts[0]}")
	switch {
	case err != nil:
	case c.plan.options.Gateway && stdout != "":
		url = "https://" + stdout + "/"
		err = c.ThroughGateway(transport)
	default:
		url, err = c.NodePortURL(ctx, example.GetNamespace(), exampleDeployment+"-npsvc")
	}
	if err != nil {
		return "", step.failed(err)
	}
	// What leads to the pod may see that it is ready later than this package.
	client := &http.Client{Timeout: 5 * time.Second, Transport: transport}
	err = c.await(ctx, url+" to be served", DefaultReadyTimeout, func(ctx context.Context) error { return get(ctx, client, url) })
	if err != nil {
		return "", step.failed(err)
	}
	step.done("%s is served", url)
	return url, nil
}
