package framework

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// testAnnotation names the test of a namespace.
const testAnnotation = "tests.example.com/name"

// kept are objects that tests leave in a shared cluster, by the prefixes of their keys in an inventory.
var kept = map[string]string{
	"namespaces crowd": "deleting its 200 Websites would keep the controller busy during other tests",
	"customresourcedefinitions.apiextensions.k8s.io ": "Gateway API stays installed, as discovery takes seconds",
	"apiservices.apiregistration.k8s.io ":             "kube-apiserver creates APIServices for definitions",
	"pods default/":                                   "the controller may replace the pods of the example",
	"replicasets.apps default/":                       "as its pods",
	"configmaps default/kubia":                        "as its pods",
}

// ignored are resources that change by themselves.
var ignored = []string{"events", "leases", "endpoints", "endpointslices", "controllerrevisions", "ipaddresses"}

// inventory lists the objects of a shared cluster by resource, namespace and name, its mounts and
// its processes. A value is the name of the test that created the entry, if known.
type inventory map[string]string

// takeInventory lists all objects except those in namespaces, which Kubernetes deletes with them.
func takeInventory(ctx context.Context) (inventory, error) {
	config := Cluster.AdminConfig()
	config = unlimited(config)
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	discovered, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := discovered.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("discovering the resources that a test could leave behind: %w", err)
	}
	found := inventory{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if slices.Contains(ignored, resource.Name) || !slices.Contains(resource.Verbs, "list") ||
				!slices.Contains(resource.Verbs, "delete") {
				continue
			}
			if err := found.add(ctx, client, version.WithResource(resource.Name)); err != nil {
				return nil, err
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			found["mount "+fields[4]] = ""
		}
	}
	for _, name := range Cluster.Processes() {
		if Cluster.Process(name).Running() {
			found["process "+name] = ""
		}
	}
	return found, nil
}

func (i inventory) add(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource) error {
	objects, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil // It was deleted meanwhile, or cannot be listed.
	}
	if err != nil {
		return fmt.Errorf("listing %s: %w", resource, err)
	}
	for _, object := range objects.Items {
		key := strings.TrimSuffix(resource.Resource+"."+resource.Group, ".") + " "
		if object.Namespace != "" {
			key += object.Namespace + "/"
		}
		i[key+object.Name] = object.Annotations[testAnnotation]
	}
	return nil
}

// leaks returns the entries of now that i lacks, with the test that left each.
func (i inventory) leaks(now inventory) []string {
	tests := map[string]string{}
	for key, test := range now {
		if namespace, ok := strings.CutPrefix(key, "namespaces "); ok && test != "" {
			tests[namespace] = test
		}
	}
	prefixes := slices.Collect(maps.Keys(kept))
	var leaks []string
	for _, key := range slices.Sorted(maps.Keys(now)) {
		_, before := i[key]
		isKept := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		// A namespace names all objects in it.
		_, name, _ := strings.Cut(key, " ")
		namespace, _, namespaced := strings.Cut(name, "/")
		_, inKept := kept["namespaces "+namespace]
		if before || isKept || namespaced && (tests[namespace] != "" || inKept) {
			continue
		}
		leak := key
		for namespace, test := range tests {
			if key == "namespaces "+namespace || strings.Contains(key, namespace) {
				leak += " (" + test + ")"
			}
		}
		leaks = append(leaks, leak)
	}
	return leaks
}

// requireNoLeaks returns an error unless the cluster returns to its inventory before the tests:
// deleted namespaces take a moment.
func requireNoLeaks(ctx context.Context, before inventory) error {
	var leaks []string
	err := wait.PollUntilContextTimeout(ctx, time.Second, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		now, err := takeInventory(ctx)
		if err != nil {
			return false, err
		}
		leaks = before.leaks(now)
		return len(leaks) == 0, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("tests have left behind: %s", strings.Join(leaks, ", "))
	}
	return err
}
