package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/test/framework"
)

const labelDeployment = "mycontroller.nevermosby.io/deployment"

// readyEndpoints returns the names of the ready pods of a Service, and an error if
// there are none.
func readyEndpoints(ctx context.Context, t *testing.T, namespace, service string) ([]string, error) {
	t.Helper()
	slices_, err := framework.Admin(t).Kubernetes.DiscoveryV1().EndpointSlices(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return nil, err
	}
	var pods []string
	for i := range slices_.Items {
		pods = append(pods, readyPods(&slices_.Items[i])...)
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("Service %s reaches no pod", service)
	}
	return pods, nil
}

// readyPods returns the names of the ready pods with a port in an EndpointSlice.
func readyPods(slice *discoveryv1.EndpointSlice) (pods []string) {
	if len(slice.Ports) == 0 {
		return nil
	}
	for _, endpoint := range slice.Endpoints {
		if ptr.Deref(endpoint.Conditions.Ready, false) && endpoint.TargetRef != nil {
			pods = append(pods, endpoint.TargetRef.Name)
		}
	}
	return pods
}

// TestSelectorsOfOrphans deletes a Website without its children and creates it again with another
// Deployment: neither Service selects the pods of the other one.
func TestSelectorsOfOrphans(t *testing.T) {
	t.Parallel()
	namespace, client := framework.NewNamespace(t), framework.Admin(t)
	website := func(deployment string) *v1alpha1.Website {
		return framework.NewV1alpha1(namespace, "a", framework.V1alpha1Deployment(deployment), framework.V1alpha1Replicas(2))
	}
	reached := func(deployment string) {
		t.Helper()
		framework.WaitFor(t, "the Service of Deployment "+deployment+" reaches its pods", func(ctx context.Context) error {
			pods, err := readyEndpoints(ctx, t, namespace, deployment+"-npsvc")
			if err == nil && (len(pods) != 2 ||
				slices.ContainsFunc(pods, func(pod string) bool { return !strings.HasPrefix(pod, deployment+"-") })) {
				err = fmt.Errorf("it reaches %v", pods)
			}
			return err
		})
	}
	framework.MustCreate(t, website("first"))
	framework.WaitReady(t, namespace, "a")
	framework.Kubectl(t, "delete", "website/a", "-n", namespace, "--cascade=orphan")
	framework.MustCreate(t, website("second"))
	framework.WaitReady(t, namespace, "a")
	reached("first")
	reached("second")

	w, err := framework.Websites(t, namespace).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	budget, err := client.Kubernetes.PolicyV1().PodDisruptionBudgets(namespace).Get(t.Context(), "second",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for what, selector := range map[string]string{
		"status.selector":         w.Status.Selector,
		"the PodDisruptionBudget": labels.SelectorFromSet(budget.Spec.Selector.MatchLabels).String(),
	} {
		pods, err := client.Kubernetes.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			if !strings.HasPrefix(pod.Name, "second-") {
				t.Errorf("%s selects pod %s", what, pod.Name)
			}
		}
		if len(pods.Items) != 2 {
			t.Errorf("%s selects %d pods, want 2", what, len(pods.Items))
		}
	}
}

// legacy applies an object without the label that names the Deployment, as website-controller did
// before it had that label.
func legacy(t *testing.T, namespace, resource, name string, desired any) {
	t.Helper()
	manifest, err := json.Marshal(desired)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(manifest, &object); err != nil {
		t.Fatal(err)
	}
	forget(object)
	if manifest, err = json.Marshal(object); err != nil {
		t.Fatal(err)
	}
	client := framework.Admin(t).Kubernetes
	rest := client.CoreV1().RESTClient()
	switch resource {
	case "deployments":
		rest = client.AppsV1().RESTClient()
	case "poddisruptionbudgets":
		rest = client.PolicyV1().RESTClient()
	}
	err = rest.Patch(types.ApplyPatchType).Namespace(namespace).Resource(resource).Name(name).
		Param("fieldManager", "website-controller").Body(manifest).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}

// forget removes the label from all maps, and the owner. Selectors, which have no other label, get
// the former one.
func forget(object map[string]any) {
	if _, ok := object[labelDeployment]; ok && len(object) == 1 {
		object["app"], object["controller"] = "website-nginx", "kubia"
	}
	delete(object, labelDeployment)
	delete(object, "ownerReferences")
	for _, value := range object {
		switch value := value.(type) {
		case map[string]any:
			forget(value)
		case []any:
			for _, item := range value {
				if m, ok := item.(map[string]any); ok {
					forget(m)
				}
			}
		}
	}
}

// TestLegacySelector makes the controller take over children with the former selector: all pods are
// replaced, and the Service always has a ready endpoint.
func TestLegacySelector(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	w := framework.NewWebsite(namespace, "kubia", func(w *v1beta1.Website) {
		w.Spec.DeploymentName, w.Spec.Replicas = "kubia", ptr.To[int32](2)
		w.Spec.Service.Type = v1beta1.ServiceTypeNodePort
		w.Spec.Source.Git.Submodules = v1beta1.SubmodulesNone
		w.Spec.Polling.Mode, w.Spec.Polling.TimeoutSeconds = v1beta1.PollingModePeriodic, 120
	})
	installation := resources.Installation{Nginx: "example.com/nginx", GitSync: "example.com/git-sync",
		Agent: "example.com/agent"}
	config, err := resources.NginxConfig(w, installation)
	if err != nil {
		t.Fatal(err)
	}
	deployment, err := resources.Deployment(w, installation, config)
	if err != nil {
		t.Fatal(err)
	}
	legacy(t, namespace, "configmaps", resources.ConfigMapName(w, config), resources.ConfigMap(w, config))
	legacy(t, namespace, "deployments", "kubia", deployment)
	legacy(t, namespace, "services", "kubia-npsvc", resources.Service(w))
	legacy(t, namespace, "poddisruptionbudgets", "kubia", resources.PodDisruptionBudget(w))
	var before []string
	framework.WaitFor(t, "the pods are ready", func(ctx context.Context) (err error) {
		if before, err = readyEndpoints(ctx, t, namespace, "kubia-npsvc"); err == nil && len(before) != 2 {
			err = fmt.Errorf("there are %v", before)
		}
		return err
	})
	watch, err := client.Kubernetes.DiscoveryV1().EndpointSlices(namespace).Watch(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=kubia-npsvc"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()

	framework.MustCreate(t, w)
	exact := map[string]string{labelDeployment: "kubia"}
	framework.WaitFor(t, "the selectors are exact", func(ctx context.Context) error {
		service, err := client.Kubernetes.CoreV1().Services(namespace).Get(ctx, "kubia-npsvc", metav1.GetOptions{})
		if err != nil {
			return err
		}
		budget, err := client.Kubernetes.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, "kubia", metav1.GetOptions{})
		if err == nil && (!maps.Equal(service.Spec.Selector, exact) || !maps.Equal(budget.Spec.Selector.MatchLabels, exact)) {
			err = fmt.Errorf("the Service selects %v, the PodDisruptionBudget %v", service.Spec.Selector,
				budget.Spec.Selector.MatchLabels)
		}
		return err
	})
	framework.WaitReady(t, namespace, "kubia")
	current, err := client.Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := current.Spec.Selector.MatchLabels[labelDeployment]; ok {
		t.Error("the Deployment was replaced")
	}
	// The loop ends when both pods are new ones.
	for done := false; !done; {
		event, ok := <-watch.ResultChan()
		if !ok {
			t.Fatal("the watch has ended")
		}
		slice, ok := event.Object.(*discoveryv1.EndpointSlice)
		if !ok {
			continue
		}
		ready := readyPods(slice)
		if len(ready) == 0 {
			t.Fatalf("the Service reaches no pod: %+v", slice)
		}
		done = len(ready) == 2 && !slices.ContainsFunc(ready, func(pod string) bool { return slices.Contains(before, pod) })
	}
}

// TestDeletedServiceKeepsItsNodePort also changes the port afterwards, as another client.
func TestDeletedServiceKeepsItsNodePort(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	services := client.Kubernetes.CoreV1().Services(namespace)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitReady(t, namespace, "kubia")
	before, err := services.Get(ctx, "kubia-website-npsvc", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port := before.Spec.Ports[0].NodePort
	recreated := func() (service *corev1.Service) {
		t.Helper()
		framework.WaitFor(t, "the Service is created again", func(ctx context.Context) (err error) {
			if service, err = services.Get(ctx, before.Name, metav1.GetOptions{}); err == nil && service.UID == before.UID {
				err = errors.New("it is not deleted yet")
			}
			return err
		})
		return service
	}
	if err := services.Delete(ctx, before.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := recreated().Spec.Ports[0].NodePort; got != port {
		t.Errorf("the node port was %d, is %d", port, got)
	}
	framework.WaitFor(t, "website-controller owns no node port", func(ctx context.Context) error {
		service, err := services.Get(ctx, before.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, entry := range service.ManagedFields {
			if entry.Manager == "website-controller" && strings.Contains(entry.FieldsV1.GetRawString(), "f:nodePort") {
				return errors.New(entry.FieldsV1.GetRawString())
			}
		}
		if got := service.Spec.Ports[0].NodePort; got != port {
			return fmt.Errorf("the node port was %d, is %d", port, got)
		}
		return nil
	})

	// While the Service cannot be created, another one takes the port.
	quota := framework.StartQuota(t, namespace, "no-more-services",
		corev1.ResourceList{"count/services": resource.MustParse("0")})
	before = recreated()
	if err := services.Delete(ctx, before.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitCondition(t, namespace, "kubia", v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonQuotaExceeded)
	elsewhere := framework.NewNamespace(t)
	framework.WaitFor(t, "the API server has released the node port", func(ctx context.Context) error {
		_, err := client.Kubernetes.CoreV1().Services(elsewhere).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "thief"},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
				Ports: []corev1.ServicePort{{Port: 80, NodePort: port}}},
		}, metav1.CreateOptions{})
		return err
	})
	if err := client.Kubernetes.CoreV1().ResourceQuotas(namespace).Delete(ctx, quota.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := recreated().Spec.Ports[0].NodePort; got == port || got == 0 {
		t.Errorf("the node port is %d, %d is taken", got, port)
	}
	if note := waitEvent(t, w, v1beta1.WebsiteReasonNodePortTaken); !strings.Contains(note, fmt.Sprint(port)) {
		t.Errorf("event %q, want port %d in it", note, port)
	}
}
