package devcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
)

const (
	exampleName       = "example"
	exampleRepository = "example"
	exampleDeployment = "example-website"
)

// ownExample returns a Website with a repository on the cluster's own git server.
// Commits that its user has pushed are kept.
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
				"source":         map[string]any{"git": map[string]any{"repository": repository}},
				"hosts":          []any{map[string]any{"name": exampleHost}},
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

// NodePortURL returns the URL on this machine of the first port of a Service of type
// NodePort, with a slash at the end. It needs a real node.
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
// one, or through its NodePort. Any response is accepted for a Website that existed before.
func (c *Cluster) openExample(ctx context.Context, namespace, name string, existed bool) (string, error) {
	stdout, stderr, err := c.Kubectl(ctx, "get", "website", name, "--namespace="+namespace, "--output=json")
	if err != nil {
		return "", fmt.Errorf("reading the example Website: %w: %s", err, strings.TrimSpace(stderr))
	}
	var site struct {
		Spec struct {
			DeploymentName string
			Replicas       *int
			Hosts          []struct{ Name string }
			Service        struct{ Type corev1.ServiceType }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &site); err != nil {
		return "", fmt.Errorf("decoding the example Website: %w", err)
	}
	if site.Spec.Replicas != nil && *site.Spec.Replicas == 0 {
		return "", nil
	}
	step := c.progress.step("page of the example")
	transport := &http.Transport{DisableKeepAlives: true}
	url := ""
	switch {
	case c.plan.options.Gateway && len(site.Spec.Hosts) > 0:
		url = "https://" + site.Spec.Hosts[0].Name + "/"
		err = c.ThroughGateway(transport)
	case site.Spec.Service.Type != corev1.ServiceTypeNodePort:
		step.done("its Service is of type %s, which has no port on the node", site.Spec.Service.Type)
		return "", nil
	default:
		url, err = c.NodePortURL(ctx, namespace, site.Spec.DeploymentName+"-npsvc")
	}
	if err != nil {
		return "", step.failed(err)
	}
	// kube-proxy or the Gateway may receive the readiness of the pod later than this package.
	client := &http.Client{Timeout: 5 * time.Second, Transport: transport}
	err = c.await(ctx, url+" to be served", DefaultReadyTimeout, func(ctx context.Context) error {
		err := get(ctx, client, url)
		if answer := (*statusError)(nil); existed && errors.As(err, &answer) {
			return nil
		}
		return err
	})
	if err != nil {
		return "", step.failed(err)
	}
	step.done("%s is served", url)
	return url, nil
}
