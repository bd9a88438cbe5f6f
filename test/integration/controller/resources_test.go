package controller

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestFractionalResourcesBecomeReady: the API server rounds the quantities of a Deployment, which the
// controller must not treat as a change.
func TestFractionalResourcesBecomeReady(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500u")}
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", func(w *v1beta1.Website) {
		w.Spec.Resources = v1beta1.WebsiteResources{
			Server: corev1.ResourceRequirements{Requests: requests}, Sync: corev1.ResourceRequirements{Requests: requests},
		}
	}))
	framework.WaitSettled(t, namespace, "kubia")
	before, err := client.Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, container := range append(before.Spec.Template.Spec.Containers, before.Spec.Template.Spec.InitContainers...) {
		if got := container.Resources.Requests.Cpu().String(); container.Name != resources.AgentContainer && got != "1m" {
			t.Errorf("container %s requests cpu %s, want 1m", container.Name, got)
		}
		if container.Resources.Limits.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() {
			t.Errorf("container %s has limits %v, want the defaults", container.Name, container.Resources.Limits)
		}
	}

	kubeAudit := framework.AuditLength(t, "kube-apiserver")
	// After a change of one child, the controller compares all of them.
	framework.Kubectl(t, "label", "service", "kubia-npsvc", "-n", namespace, "app-")
	framework.WaitFor(t, "the controller has restored the label", func(ctx context.Context) error {
		return framework.ControllerIdle(ctx, t)
	})
	framework.Kubectl(t, "wait", "service", "kubia-npsvc", "-n", namespace,
		"--for=jsonpath={.metadata.labels.app}=website", "--timeout=30s")
	for _, event := range framework.AuditEvents(t, "kube-apiserver", kubeAudit) {
		if event.User.Username == framework.ControllerUser && mutating(event.Verb) && event.ObjectRef != nil &&
			event.ObjectRef.Namespace == namespace && event.ObjectRef.Resource == "deployments" {
			t.Errorf("the controller has written the unchanged Deployment: %s", event.Verb)
		}
	}
}
