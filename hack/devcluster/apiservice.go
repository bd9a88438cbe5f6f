package devcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationv1ac "k8s.io/kube-aggregator/pkg/client/applyconfiguration/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

// websiteGroup is the API group that website-apiserver serves.
const websiteGroup = "mycontroller.nevermosby.io"

// websiteVersions are the versions of websiteGroup. Clients prefer the version with the highest
// priority.
var websiteVersions = []struct {
	name     string
	priority int32
}{
	{"v1beta1", 20},
	{"v1alpha1", 10},
}

// groupPriority is the groupPriorityMinimum of the APIServices: if several groups have a short
// name, kubectl uses the group of the highest priority. Kubernetes' own groups have higher priorities.
const groupPriority = 1000

// applyService applies the Service of a server that runs outside the cluster. Call it well before
// the APIServices that refer to the Service are applied: kube-apiserver fetches their OpenAPI
// documents at once, and retries only after a minute if its cache lacks the Service.
func applyService(ctx context.Context, client kubernetes.Interface, server string, port int) error {
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	// The aggregation layer connects only to Services. The external name of this Service points to
	// the server outside the cluster.
	service := corev1ac.Service(server, websiteNamespace).WithSpec(corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeExternalName).
		WithExternalName("localhost").
		WithPorts(corev1ac.ServicePort().WithName("https").WithPort(int32(port))))
	if _, err := client.CoreV1().Services(websiteNamespace).Apply(ctx, service, options); err != nil {
		return fmt.Errorf("applying the Service of %s: %w", server, err)
	}
	return nil
}

// applyAPIService applies the APIService that registers a server, with its CA, for a version of an
// API group.
func applyAPIService(ctx context.Context, registration aggregator.Interface, server, group, version string,
	priority int32, caBundle []byte, port int) error {
	name := version + "." + group
	apiService := apiregistrationv1ac.APIService(name).WithSpec(apiregistrationv1ac.APIServiceSpec().
		WithGroup(group).
		WithVersion(version).
		WithGroupPriorityMinimum(groupPriority).
		WithVersionPriority(priority).
		WithCABundle(caBundle...).
		WithService(apiregistrationv1ac.ServiceReference().
			WithNamespace(websiteNamespace).WithName(server).WithPort(int32(port))))
	if _, err := registration.ApiregistrationV1().APIServices().Apply(ctx, apiService,
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
		return fmt.Errorf("applying APIService %s: %w", name, err)
	}
	return nil
}

// apiServiceAvailable returns an error until the APIService of a version is Available.
func apiServiceAvailable(ctx context.Context, registration aggregator.Interface, group, version string) error {
	name := version + "." + group
	apiService, err := registration.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading APIService %s: %w", name, err)
	}
	i := slices.IndexFunc(apiService.Status.Conditions, func(c apiregistrationv1.APIServiceCondition) bool {
		return c.Type == apiregistrationv1.Available
	})
	if i < 0 {
		return fmt.Errorf("APIService %s has no Available condition yet", name)
	}
	if condition := apiService.Status.Conditions[i]; condition.Status != apiregistrationv1.ConditionTrue {
		return fmt.Errorf("APIService %s is not Available: %s: %s", name, condition.Reason, condition.Message)
	}
	return nil
}

// apiServicesAvailable returns an error until clients can use all versions of the Website API.
func apiServicesAvailable(ctx context.Context, registration aggregator.Interface,
	client discovery.DiscoveryInterface) error {
	for _, version := range websiteVersions {
		if err := apiServiceAvailable(ctx, registration, websiteGroup, version.name); err != nil {
			return err
		}
	}
	// kube-apiserver updates discovery later than the condition, and kubectl relies on discovery.
	groups, lists, err := client.ServerGroupsAndResources()
	// Other API groups may be unavailable.
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return fmt.Errorf("discovering the website API: %w", err)
	}
	if !slices.ContainsFunc(groups, func(g *metav1.APIGroup) bool { return g.Name == websiteGroup }) {
		return errors.New("discovery does not list group " + websiteGroup + " yet")
	}
	for _, version := range websiteVersions {
		want := schema.GroupVersion{Group: websiteGroup, Version: version.name}.String()
		if !slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool {
			return l.GroupVersion == want &&
				len(l.APIResources) > 0
		}) {
			return errors.New("discovery does not list the resources of " + want + " yet")
		}
	}
	return documented(ctx, client)
}

// documented returns an error while a version lacks its OpenAPI document, which kubectl
// explain and the validation of unknown fields require.
func documented(ctx context.Context, client discovery.DiscoveryInterface) error {
	var index struct {
		Paths map[string]any `json:"paths"`
	}
	data, err := client.RESTClient().Get().AbsPath("/openapi/v3").Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("reading the index of OpenAPI documents: %w", err)
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return fmt.Errorf("decoding the index of OpenAPI documents: %w", err)
	}
	for _, version := range websiteVersions {
		if path := "apis/" + websiteGroup + "/" + version.name; index.Paths[path] == nil {
			return errors.New("there is no OpenAPI document for " + path + " yet")
		}
	}
	return nil
}
