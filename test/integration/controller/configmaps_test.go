package controller

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestConfigurationOfEachRevision changes the configuration of the pods several times: each
// revision that the Deployment keeps has its configuration, and there are no others.
func TestConfigurationOfEachRevision(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t).Kubernetes
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	framework.WaitReady(t, namespace, "kubia")
	first, err := framework.NginxConfigMap(ctx, client, namespace, "kubia")
	if err != nil {
		t.Fatal(err)
	}

	// check returns an error unless the ConfigMaps that ReplicaSets mount exist, and, if exactly,
	// no others.
	check := func(ctx context.Context, exactly bool) error {
		replicaSets, err := client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		configMaps, err := framework.NginxConfigMaps(ctx, client, namespace, "kubia")
		if err != nil {
			return err
		}
		exist, mounted := sets.New(configMaps...), sets.New[string]()
		for _, replicaSet := range replicaSets.Items {
			names := framework.ConfigMapsOf(&replicaSet.Spec.Template.Spec)
			mounted.Insert(names...)
			if exist.HasAll(names...) {
				continue
			}
			if _, err := client.AppsV1().ReplicaSets(namespace).Get(ctx, replicaSet.Name, metav1.GetOptions{}); err == nil {
				t.Fatalf("ReplicaSet %s mounts %v, but there are only %v", replicaSet.Name, names, sets.List(exist))
			}
		}
		if exactly && !exist.Equal(mounted) {
			return fmt.Errorf("there are %v, ReplicaSets mount %v", sets.List(exist), sets.List(mounted))
		}
		return nil
	}
	for i := range 5 {
		framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"source":{"path":"v%d"}}}`, i))
		framework.WaitFor(t, "the change is rolled out", func(ctx context.Context) error {
			if err := check(ctx, false); err != nil {
				return err
			}
			website, err := framework.Websites(t, namespace).Get(ctx, "kubia", metav1.GetOptions{})
			if err == nil && website.Status.ObservedGeneration != website.Generation {
				err = fmt.Errorf("status = %+v", website.Status)
			}
			return err
		})
		framework.WaitReady(t, namespace, "kubia")
	}
	framework.WaitFor(t, "unused ConfigMaps are deleted", func(ctx context.Context) error { return check(ctx, true) })
	if _, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, first, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the first of six configurations: %v, want that it is deleted", err)
	}

	current, err := framework.NginxConfigMap(ctx, client, namespace, "kubia")
	if err != nil {
		t.Fatal(err)
	}
	configMap, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, current, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	configMap.Data["nginx.conf"] += "\n"
	if _, err := client.CoreV1().ConfigMaps(namespace).Update(ctx, configMap,
		metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("editing the configuration: %v, want that it is immutable", err)
	}

	// Once the old ReplicaSets are deleted, their configurations are unused.
	err = client.AppsV1().ReplicaSets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: oldRevisions(ctx, t, namespace)})
	if err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "only the current ConfigMap is left", func(ctx context.Context) error {
		configMaps, err := framework.NginxConfigMaps(ctx, client, namespace, "kubia")
		if err == nil && (len(configMaps) != 1 || configMaps[0] != current) {
			err = fmt.Errorf("there are %q", configMaps)
		}
		return err
	})
	framework.WaitCondition(t, namespace, "kubia", v1beta1.WebsiteReady, metav1.ConditionTrue,
		v1beta1.WebsiteReasonServing)
}

// oldRevisions selects the ReplicaSets of a namespace that have no pods.
func oldRevisions(ctx context.Context, t *testing.T, namespace string) string {
	t.Helper()
	replicaSets, err := framework.Admin(t).Kubernetes.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selector := appsv1.DefaultDeploymentUniqueLabelKey + " in ("
	separator := ""
	for _, replicaSet := range replicaSets.Items {
		if *replicaSet.Spec.Replicas == 0 {
			selector += separator + replicaSet.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
			separator = ", "
		}
	}
	return selector + ")"
}

// TestConfigMapOfEarlierVersion starts from the single, mutable ConfigMap of earlier versions: it
// stays while a revision mounts it.
func TestConfigMapOfEarlierVersion(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t).Kubernetes
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	framework.WaitReady(t, namespace, "kubia")
	current, err := framework.NginxConfigMap(ctx, client, namespace, "kubia")
	if err != nil {
		t.Fatal(err)
	}
	configMap, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, current, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	template := deployment.Spec.Template.DeepCopy()
	for i := range template.Spec.Volumes {
		if template.Spec.Volumes[i].ConfigMap != nil {
			template.Spec.Volumes[i].ConfigMap.Name = "kubia-nginx"
		}
	}
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "old"
	selector := deployment.Spec.Selector.DeepCopy()
	selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = "old"
	_, err = client.AppsV1().ReplicaSets(namespace).Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia-old", Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32), Selector: selector, Template: *template},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia-nginx", Labels: configMap.Labels,
			OwnerReferences: configMap.OwnerReferences},
		Data: configMap.Data,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.Kubectl(t, "scale", "website", "kubia", "-n", namespace, "--replicas=2")
	framework.WaitSettled(t, namespace, "kubia")
	if _, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "kubia-nginx", metav1.GetOptions{}); err != nil {
		t.Errorf("a revision mounts the ConfigMap: %v", err)
	}
	if err := client.AppsV1().ReplicaSets(namespace).Delete(ctx, "kubia-old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the ConfigMap is deleted", func(ctx context.Context) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "kubia-nginx", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}
