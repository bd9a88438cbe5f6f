package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestTheOriginalExample applies the unchanged manifest and checks the children that the original
// controller created for it.
func TestTheOriginalExample(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	framework.Kubectl(t, "apply", "-n", namespace, "-f", framework.Example)
	w := framework.MustGet(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitAvailable(t, w, 1)

	deployment, err := client.Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var containers []string
	pod := deployment.Spec.Template.Spec
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		containers = append(containers, c.Name)
	}
	if !slices.Equal(containers, []string{"agent", "git-sync", "nginx"}) {
		t.Errorf("containers = %v, want agent, git-sync and nginx", containers)
	}
	podLabels := map[string]string{labelDeployment: "kubia-website"}
	if !maps.Equal(deployment.Spec.Selector.MatchLabels, podLabels) {
		t.Errorf("selector = %v, want %v", deployment.Spec.Selector.MatchLabels, podLabels)
	}

	service, err := client.Kubernetes.CoreV1().Services(namespace).Get(ctx, "kubia-website-npsvc", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if service.Spec.Type != corev1.ServiceTypeNodePort || len(service.Spec.Ports) != 1 ||
		service.Spec.Ports[0].Port != 80 || service.Spec.Ports[0].TargetPort != intstr.FromString("http") ||
		service.Spec.Ports[0].NodePort == 0 {
		t.Errorf("service = %+v, want a NodePort 80 to http", service.Spec)
	}
	if !maps.Equal(service.Spec.Selector, podLabels) {
		t.Errorf("service selects %v, want %v", service.Spec.Selector, podLabels)
	}
	if service.Labels["app"] != "website" || service.Labels["controller"] != "kubia" {
		t.Errorf("service labels = %v, want app=website and controller=kubia", service.Labels)
	}

	for kind, object := range map[string]metav1.Object{"Deployment": deployment, "Service": service} {
		if !metav1.IsControlledBy(object, w) {
			t.Errorf("%s is owned by %+v, want Website kubia", kind, object.GetOwnerReferences())
		}
		if object.GetLabels()["app.kubernetes.io/managed-by"] != "website-controller" {
			t.Errorf("%s labels = %v, want managed-by website-controller", kind, object.GetLabels())
		}
	}
}

func TestScaling(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitAvailable(t, w, 1)
	for _, replicas := range []int32{3, 0, 1} {
		framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
		framework.WaitAvailable(t, w, replicas)
	}
}

// TestChildrenAreRepaired edits and deletes children as a user would.
func TestChildrenAreRepaired(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitAvailable(t, w, 1)
	deployments, services := client.Kubernetes.AppsV1().Deployments(namespace),
		client.Kubernetes.CoreV1().Services(namespace)
	configMaps := client.Kubernetes.CoreV1().ConfigMaps(namespace)
	configMap, err := framework.NginxConfigMap(ctx, client.Kubernetes, namespace, "kubia-website")
	if err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name     string
		break_   func() error
		repaired func(context.Context) error
	}{
		{
			name: "Deployment deleted",
			break_: func() error {
				return deployments.Delete(ctx, "kubia-website", metav1.DeleteOptions{})
			},
			repaired: func(ctx context.Context) error {
				d, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
				if err == nil && (d.DeletionTimestamp != nil || !metav1.IsControlledBy(d, w)) {
					err = fmt.Errorf("metadata = %+v", d.ObjectMeta)
				}
				return err
			},
		},
		{
			name: "Service deleted",
			break_: func() error {
				return services.Delete(ctx, "kubia-website-npsvc", metav1.DeleteOptions{})
			},
			repaired: func(ctx context.Context) error {
				_, err := services.Get(ctx, "kubia-website-npsvc", metav1.GetOptions{})
				return err
			},
		},
		{
			name: "image edited",
			break_: func() error {
				_, err := deployments.Patch(ctx, "kubia-website", types.StrategicMergePatchType,
					[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"example.com/other"}]}}}}`),
					metav1.PatchOptions{})
				return err
			},
			repaired: func(ctx context.Context) error {
				d, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
				if err == nil && d.Spec.Template.Spec.Containers[0].Image == "example.com/other" {
					err = fmt.Errorf("image = %s", d.Spec.Template.Spec.Containers[0].Image)
				}
				return err
			},
		},
		{
			name: "scaled behind the Website's back",
			break_: func() error {
				_, _, err := framework.Cluster.Kubectl(ctx, "scale", "deployment/kubia-website", "-n", namespace, "--replicas=4")
				return err
			},
			repaired: func(ctx context.Context) error {
				d, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
				if err == nil && *d.Spec.Replicas != 1 {
					err = fmt.Errorf("replicas = %d", *d.Spec.Replicas)
				}
				return err
			},
		},
		{
			name: "label that the controller selects on removed",
			break_: func() error {
				_, _, err := framework.Cluster.Kubectl(ctx, "label", "deployment/kubia-website", "-n", namespace,
					"app.kubernetes.io/managed-by-")
				return err
			},
			repaired: func(ctx context.Context) error {
				d, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
				if err == nil && d.Labels["app.kubernetes.io/managed-by"] != "website-controller" {
					err = fmt.Errorf("labels = %v", d.Labels)
				}
				return err
			},
		},
		{
			name: "Service made to select nothing",
			break_: func() error {
				_, err := services.Patch(ctx, "kubia-website-npsvc", types.MergePatchType,
					[]byte(`{"spec":{"selector":{"mycontroller.nevermosby.io/deployment":"another"}}}`), metav1.PatchOptions{})
				return err
			},
			repaired: func(ctx context.Context) error {
				s, err := services.Get(ctx, "kubia-website-npsvc", metav1.GetOptions{})
				if err == nil && s.Spec.Selector[labelDeployment] != "kubia-website" {
					err = fmt.Errorf("selector = %v", s.Spec.Selector)
				}
				return err
			},
		},
		{
			name: "configuration deleted",
			break_: func() error {
				return configMaps.Delete(ctx, configMap, metav1.DeleteOptions{})
			},
			repaired: func(ctx context.Context) error {
				_, err := configMaps.Get(ctx, configMap, metav1.GetOptions{})
				return err
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.break_(); err != nil {
				t.Fatal(err)
			}
			framework.WaitFor(t, "the child is repaired", test.repaired)
		})
	}

	t.Run("fields of other managers are kept", func(t *testing.T) {
		framework.Kubectl(t, "annotate", "deployment/kubia-website", "-n", namespace, "example.com/note=theirs")
		framework.Kubectl(t, "scale", "deployment/kubia-website", "-n", namespace, "--replicas=4")
		framework.WaitFor(t, "the replicas are repaired", func(ctx context.Context) error {
			d, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
			if err == nil && *d.Spec.Replicas != 1 {
				err = fmt.Errorf("replicas = %d", *d.Spec.Replicas)
			}
			return err
		})
		d, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Annotations["example.com/note"] != "theirs" {
			t.Errorf("annotations = %v: another's was removed", d.Annotations)
		}
	})
}

// waitEvent waits for an event about the Website with the given reason and returns its message.
func waitEvent(t *testing.T, w *v1alpha1.Website, reason string) string {
	t.Helper()
	var note string
	framework.WaitFor(t, fmt.Sprintf("Website %s has an event %s", w.Name, reason), func(ctx context.Context) error {
		events, err := framework.Admin(t).Kubernetes.EventsV1().Events(w.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.Regarding.UID == w.UID && e.Reason == reason {
				note = e.Note
				return nil
			}
		}
		return fmt.Errorf("none of %d events", len(events.Items))
	})
	return note
}

// TestTakenDeploymentName has a second Website with the Deployment of the first, as after two
// concurrent creations: the first is not affected, and the second creates its own once the name
// is free.
func TestTakenDeploymentName(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	first := framework.MustCreate(t, framework.NewV1alpha1(namespace, "first", framework.V1alpha1Deployment("shared")))
	framework.WaitSettled(t, namespace, "first")
	before, err := client.Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "shared", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	firstBefore := framework.MustGet(t, first)

	if err := framework.StoreUnchecked(ctx, framework.NewWebsite(namespace, "second", framework.WithDeployment("shared"),
		framework.WithReplicas(3))); err != nil {
		t.Fatal(err)
	}
	second := framework.MustGet(t, framework.NewV1alpha1(namespace, "second"))
	note := waitEvent(t, second, "NameTaken")
	for _, want := range []string{"Deployment", "shared", "first"} {
		if !strings.Contains(note, want) {
			t.Errorf("event = %q, want it to name %q", note, want)
		}
	}
	for _, kind := range []string{v1beta1.WebsiteReady, v1beta1.WebsiteAvailable, v1beta1.WebsiteProgressing} {
		if c := framework.WaitCondition(t, namespace, "second", kind, metav1.ConditionFalse,
			v1beta1.WebsiteReasonNameTaken); !strings.Contains(c.Message, `Website "first"`) {
			t.Errorf("message = %q, want the owner of the name", c.Message)
		}
	}
	after, err := client.Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "shared", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the first Website's Deployment was written: %+v", after.ManagedFields)
	}
	if got := framework.MustGet(t, first); got.ResourceVersion != firstBefore.ResourceVersion {
		t.Error("the first Website was written")
	}
	if got := framework.MustGet(t, second); got.Status.AvailableReplicas != 0 {
		t.Errorf("the second Website reports %d replicas that are not its own", got.Status.AvailableReplicas)
	}

	framework.Kubectl(t, "delete", "website", "first", "-n", namespace)
	framework.WaitAvailable(t, second, 3)
	framework.WaitCondition(t, namespace, "second", v1beta1.WebsiteReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonServing)
}

// TestForeignDeploymentIsNeverTouched also sets the controller's labels on it.
func TestForeignDeploymentIsNeverTouched(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	labels := map[string]string{"app": "website-nginx", "controller": "kubia",
		"app.kubernetes.io/managed-by": "website-controller"}
	foreign, err := client.Kubernetes.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia-website", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "mine"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "mine"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "mine", Image: "example.com/mine"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	if note := waitEvent(t, w, "NameTaken"); !strings.Contains(note, "kubia-website") {
		t.Errorf("event = %q, want it to name the Deployment", note)
	}
	framework.Kubectl(t, "delete", "website", "kubia", "-n", namespace)
	current, err := client.Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if current.UID != foreign.UID || current.Generation != foreign.Generation || len(current.OwnerReferences) != 0 ||
		!maps.Equal(current.Labels, labels) {
		t.Errorf("foreign Deployment = %+v, want it untouched", current.ObjectMeta)
	}
	for _, entry := range current.ManagedFields {
		if entry.Manager == "website-controller" {
			t.Errorf("website-controller has written to it: %s", entry.FieldsV1.GetRawString())
		}
	}
}
