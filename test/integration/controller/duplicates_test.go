package controller

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestDuplicateVariables sets variables of the pods twice, which kube-apiserver accepts with a
// warning: of the controller's own, one stays; duplicates in a foreign container are kept; and
// neither blocks changes of the Website.
func TestDuplicateVariables(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	deployments := framework.Admin(t).Kubernetes.AppsV1().Deployments(namespace)
	framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitSettled(t, namespace, "kubia")
	deployment, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gitSync := func(d *appsv1.Deployment) *corev1.Container {
		containers := d.Spec.Template.Spec.InitContainers
		return &containers[slices.IndexFunc(containers,
			func(c corev1.Container) bool { return c.Name == resources.GitSyncContainer })]
	}
	before := gitSync(deployment).Env
	if len(before) == 0 {
		t.Fatal("git-sync has no variables")
	}

	twice := []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}
	deployment.Spec.Template.Spec.Containers = append(deployment.Spec.Template.Spec.Containers,
		corev1.Container{Name: "sidecar", Image: "sidecar", Env: twice})
	gitSync(deployment).Env = append(slices.Clone(before), corev1.EnvVar{Name: before[0].Name, Value: "of another"})
	if _, err := deployments.Update(ctx, deployment, metav1.UpdateOptions{FieldManager: "another"}); err != nil {
		t.Fatal(err)
	}

	framework.WaitFor(t, "the variables of git-sync are as before", func(ctx context.Context) error {
		now, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if env := gitSync(now).Env; len(env) != len(before) {
			return fmt.Errorf("they are %+v", env)
		}
		return nil
	})
	framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=2")
	framework.WaitSettled(t, namespace, "kubia")
	now, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if containers := now.Spec.Template.Spec.Containers; !slices.ContainsFunc(containers,
		func(c corev1.Container) bool { return c.Name == "sidecar" && len(c.Env) == 2 }) {
		t.Errorf("the container of another is gone, or was changed: %+v", containers)
	}
	if *now.Spec.Replicas != 2 {
		t.Errorf("there are %d replicas", *now.Spec.Replicas)
	}
}
