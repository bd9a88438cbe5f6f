package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	applied "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestHorizontalPodAutoscaler makes kube-controller-manager's autoscaler scale a Website into its
// bounds, which needs no metrics.
func TestHorizontalPodAutoscaler(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	websites := framework.Websites(t, namespace)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	framework.WaitAvailable(t, framework.NewV1alpha1(namespace, "kubia"), 1)

	autoscalers := client.Kubernetes.AutoscalingV2().HorizontalPodAutoscalers(namespace)
	if _, err := autoscalers.Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: v1beta1.SchemeGroupVersion.String(),
				Kind: "Website", Name: "kubia"},
			MinReplicas: ptr.To[int32](2),
			MaxReplicas: 3,
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	scaled := func(want int32) {
		t.Helper()
		framework.WaitFor(t, fmt.Sprintf("the autoscaler has set %d replicas", want), func(ctx context.Context) error {
			w, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
			if err != nil {
				return err
			}
			autoscaler, err := autoscalers.Get(ctx, "kubia", metav1.GetOptions{})
			if err == nil && *w.Spec.Replicas != want {
				err = fmt.Errorf("replicas = %d, conditions of the autoscaler = %+v", *w.Spec.Replicas,
					autoscaler.Status.Conditions)
			}
			return err
		})
	}
	scaled(2)
	w, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owned := false
	for _, entry := range w.ManagedFields {
		owned = owned || entry.Subresource == "scale" && entry.APIVersion == v1beta1.SchemeGroupVersion.String() &&
			strings.Contains(entry.FieldsV1.GetRawString(), `"f:replicas"`)
	}
	if !owned {
		t.Errorf("owners = %+v, want the autoscaler to own the replicas through the scale", w.ManagedFields)
	}
	framework.WaitAvailable(t, framework.NewV1alpha1(namespace, "kubia"), 2)

	framework.Kubectl(t, "scale", "website", "kubia", "-n", namespace, "--replicas=5")
	scaled(3)
	framework.WaitFor(t, "the autoscaler says that it can scale", func(ctx context.Context) error {
		autoscaler, err := autoscalers.Get(ctx, "kubia", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range autoscaler.Status.Conditions {
			if condition.Type == autoscalingv2.AbleToScale && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("conditions = %+v", autoscaler.Status.Conditions)
	})
}

// TestScaleSelectsThePods: autoscalers find the pods to measure by the selector of a Scale.
func TestScaleSelectsThePods(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed,
		func(w *v1beta1.Website) { w.Spec.Replicas = ptr.To[int32](2) }))
	framework.MustCreate(t, framework.NewWebsite(namespace, "other", framework.Detailed))
	framework.WaitAvailable(t, framework.NewV1alpha1(namespace, "kubia"), 2)
	framework.WaitAvailable(t, framework.NewV1alpha1(namespace, "other"), 1)
	scale, err := framework.Websites(t, namespace).GetScale(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 2 || scale.Status.Replicas != 2 {
		t.Errorf("scale = %+v, want 2 of 2", scale)
	}
	pods, err := client.Kubernetes.CoreV1().Pods(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: scale.Status.Selector})
	if err != nil || len(pods.Items) != 2 || scale.Status.Selector == "" {
		t.Errorf("%q selects %d pods (%v), want the 2 of the Website", scale.Status.Selector, len(pods.Items), err)
	}
}

// TestKubectlScale covers the preconditions that kubectl can set.
func TestKubectlScale(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	stderr := framework.KubectlRefused(t, "", "scale", "website", "kubia", "-n", namespace,
		"--current-replicas=7", "--replicas=3")
	if !strings.Contains(stderr, "Expected replicas to be 7, was 1") {
		t.Errorf("kubectl printed %q, want the number that is there", stderr)
	}
	stderr = framework.KubectlRefused(t, "", "scale", "website", "kubia", "-n", namespace,
		"--resource-version=1", "--replicas=3")
	if !strings.Contains(stderr, "Expected resource version to be 1") {
		t.Errorf("kubectl printed %q, want the resource version that is there", stderr)
	}
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		framework.Kubectl(t, "scale", "websites."+version+".mycontroller.nevermosby.io/kubia", "-n", namespace,
			"--current-replicas=1", "--replicas=2")
		framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--subresource=scale", "--type=merge", "-p",
			`{"spec":{"replicas":1}}`)
	}
	stderr = framework.KubectlRefused(t, "", "patch", "website", "kubia", "-n", namespace, "--subresource=scale",
		"--type=merge", "-p", `{"spec":{"replicas":-1}}`)
	if !strings.Contains(stderr, "spec.replicas: Invalid value: -1: must be greater than or equal to 0") {
		t.Errorf("kubectl printed %q, want the number refused", stderr)
	}
}

// TestApplyToScale: the number of replicas has one owner, through both resources.
func TestApplyToScale(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ctx, namespace := t.Context(), framework.NewNamespace(t)
			websites := framework.Websites(t, namespace)
			team := applied.Website("kubia", namespace).WithSpec(applied.WebsiteSpec().WithReplicas(1).
				WithSource(applied.WebsiteSource().WithGit(applied.GitSource().WithRepository("https://example.com/site.git"))))
			if _, err := websites.Apply(ctx, team, metav1.ApplyOptions{FieldManager: "team"}); err != nil {
				t.Fatal(err)
			}
			applyScale := func(force bool) (*autoscalingv1.Scale, error) {
				scale := &autoscalingv1.Scale{}
				client := framework.Admin(t).Websites
				rest := client.WebsiteV1beta1().RESTClient()
				if version == "v1alpha1" {
					rest = client.WebsiteV1alpha1().RESTClient()
				}
				err := rest.Patch(types.ApplyYAMLPatchType).Namespace(namespace).Resource("websites").Name("kubia").
					SubResource("scale").
					VersionedParams(&metav1.PatchOptions{FieldManager: "autoscaler", Force: &force}, metav1.ParameterCodec).
					Body(
						[]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"kubia","namespace":"` + namespace +
							`"},"spec":{"replicas":4}}`),
					).
					Do(ctx).Into(scale)
				return scale, err
			}
			if _, err := applyScale(false); !apierrors.IsConflict(err) ||
				!strings.Contains(err.Error(), `conflict with "team"`) || !strings.Contains(err.Error(), ".spec.replicas") {
				t.Fatalf("applying a scale over the team's replicas: %v, want a conflict with team about .spec.replicas", err)
			}
			scale, err := applyScale(true)
			if err != nil {
				t.Fatal(err)
			}
			if scale.Spec.Replicas != 4 {
				t.Errorf("scale = %+v, want 4 replicas", scale)
			}
			w, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range w.ManagedFields {
				fields := entry.FieldsV1.GetRawString()
				switch entry.Manager {
				case "team":
					if strings.Contains(fields, "f:replicas") {
						t.Errorf("team still owns %s", fields)
					}
				case "autoscaler":
					if entry.Subresource != "scale" || fields != `{"f:spec":{"f:replicas":{}}}` {
						t.Errorf("autoscaler owns %s of %q, want the replicas through the scale", fields, entry.Subresource)
					}
				}
			}

			// The team gives up the replicas and keeps all other fields.
			team.Spec.Replicas = nil
			kept, err := websites.Apply(ctx, team, metav1.ApplyOptions{FieldManager: "team"})
			if err != nil {
				t.Fatal(err)
			}
			if *kept.Spec.Replicas != 4 {
				t.Errorf("replicas = %d after the team has given them up, want the autoscaler's 4", *kept.Spec.Replicas)
			}
			if _, err := websites.Apply(
				ctx, team.WithSpec(team.Spec.WithReplicas(1)), metav1.ApplyOptions{FieldManager: "team"},
			); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "autoscaler"`) {
				t.Errorf("applying the replicas again: %v, want a conflict with autoscaler", err)
			}
		})
	}
}
