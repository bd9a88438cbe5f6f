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
)

const (
	exampleName       = "example"
	exampleRepository = "example"
	// exampleTimeout covers scheduling and, on a real node, fetching the repository.
	exampleTimeout = "--timeout=3m"
)

// These are the examples of a real node, of a repository, and with a Gateway of a host.
const (
	exampleManifest = `apiVersion: ` + websiteGroup + `/v1alpha1
kind: Website
metadata: {name: ` + exampleName + `, namespace: default}
spec: {deploymentName: example-website, gitRepo: %q, replicas: 1}
`
	hostedManifest = `apiVersion: ` + websiteGroup + `/v1beta1
kind: Website
metadata: {name: ` + exampleName + `, namespace: default}
spec:
  deploymentName: example-website
  source: {git: {repository: %q}}
  hosts: [{name: ` + exampleHost + `}]
`
)

// ApplyExample creates an example Website unless it exists, and waits until it is
// available. An existing one is not changed: it may have no replicas, or no page.
//
// On a simulated node, the example is artifacts/examples/kubia.yaml. Pods of a real node
// have no internet access, so its repository is one of the cluster's git server, filled from
// artifacts/examples/site. url is the URL of its page, which has been fetched once; empty if it
// has no replicas, or is served at no port of the node.
func (c *Cluster) ApplyExample(ctx context.Context) (url string, err error) {
	name, manifest, how, err := c.example(ctx)
	if err != nil {
		return "", fmt.Errorf("preparing the example Website: %w", err)
	}
	step := c.progress.step("Website " + name)
	_, err = c.kubectl(ctx, manifest, "create", "--field-manager="+fieldManager, "--filename=-")
	existed := err != nil && strings.Contains(err.Error(), "(AlreadyExists)")
	if existed {
		how, err = "exists", nil
	}
	if err != nil {
		return "", step.failed(fmt.Errorf("creating the example Website: %w", err))
	}
	step.set("waiting for its replicas")
	if err := c.kubectlWait(ctx, "wait", "website/"+name, "--for=condition=Available", exampleTimeout); err != nil {
		return "", step.failed(err)
	}
	step.done("%s, it is available", how)
	if c.plan.options.Node != NodeReal {
		return "", nil
	}
	return c.openExample(ctx, existed)
}

// example returns the Website to create and a description of its source. On a real node, commits that its
// user has pushed are kept.
func (c *Cluster) example(ctx context.Context) (name, manifest, how string, err error) {
	examples := filepath.Join(c.plan.options.RepoDir, "artifacts", "examples")
	if c.plan.options.Node != NodeReal {
		path := filepath.Join(examples, "kubia.yaml")
		data, err := os.ReadFile(path)
		return "kubia", string(data), "created from " + path, err
	}
	path := c.GitRepositoryPath(exampleRepository)
	if branches, err := os.ReadDir(filepath.Join(path, "refs", "heads")); err != nil || len(branches) == 0 {
		if _, err := c.CommitToRepository(ctx, exampleRepository, filepath.Join(examples, "site"),
			"Publish the example site"); err != nil {
			return "", "", "", err
		}
	}
	manifest = exampleManifest
	if c.plan.options.Gateway {
		manifest = hostedManifest
	}
	return exampleName, fmt.Sprintf(manifest, c.GitServerURL()+"/"+exampleRepository+".git"),
		"created with repository " + path, nil
}

// get decodes an object of the cluster.
func (c *Cluster) get(ctx context.Context, object any, kind, namespace, name string) error {
	stdout, err := c.kubectl(ctx, "", "get", kind, name, "--namespace="+namespace, "--output=json")
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(stdout), object)
}

// NodePortURL returns the URL on this machine of the first port of a Service of type
// NodePort, with a slash at the end. It needs a real node.
func (c *Cluster) NodePortURL(ctx context.Context, namespace, service string) (string, error) {
	var s corev1.Service
	if err := c.get(ctx, &s, "service", namespace, service); err != nil {
		return "", err
	}
	if c.NodeAddress() == "" || len(s.Spec.Ports) == 0 || s.Spec.Ports[0].NodePort == 0 {
		return "", fmt.Errorf("the Service %s has no port on a real node", service)
	}
	return "http://" + net.JoinHostPort(c.NodeAddress(), strconv.Itoa(int(s.Spec.Ports[0].NodePort))) + "/", nil
}

// openExample fetches the example's page as its user will: by its host at the Gateway, if it has
// one, or through its NodePort. Any response is accepted for a Website that existed before.
func (c *Cluster) openExample(ctx context.Context, existed bool) (string, error) {
	var site struct {
		Spec struct {
			DeploymentName string
			Replicas       *int
			Hosts          []struct{ Name string }
			Service        struct{ Type corev1.ServiceType }
		}
	}
	if err := c.get(ctx, &site, "website", "default", exampleName); err != nil {
		return "", fmt.Errorf("reading the example Website: %w", err)
	}
	if site.Spec.Replicas != nil && *site.Spec.Replicas == 0 {
		return "", nil
	}
	step := c.progress.step("page of the example")
	transport := &http.Transport{DisableKeepAlives: true}
	var url string
	var err error
	switch {
	case c.plan.options.Gateway && len(site.Spec.Hosts) > 0:
		url = "https://" + site.Spec.Hosts[0].Name + "/"
		err = c.ThroughGateway(transport)
	case site.Spec.Service.Type != corev1.ServiceTypeNodePort:
		step.done("its Service is of type %s, which has no port on the node", site.Spec.Service.Type)
		return "", nil
	default:
		url, err = c.NodePortURL(ctx, "default", site.Spec.DeploymentName+"-npsvc")
	}
	if err != nil {
		return "", step.failed(err)
	}
	// kube-proxy or the Gateway may receive the readiness of the pod later than this package.
	client := &http.Client{Timeout: 5 * time.Second, Transport: transport}
	err = c.await(ctx, url+" to be served", func(ctx context.Context) error {
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
