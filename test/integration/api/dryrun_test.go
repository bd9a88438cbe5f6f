package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	applied "github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestDryRunStoresNothing sends every kind of write as a dry run: the response shows the outcome,
// and the Website stays unchanged.
func TestDryRunStoresNothing(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	// Once the status is final, only the tested requests write.
	framework.WaitSettled(t, namespace, "kubia")
	before, err := websites.Get(t.Context(), "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dryRun := []string{metav1.DryRunAll}

	// scaled checks the response to a write of replicas.
	scaled := func(w *v1beta1.Website, err error) error {
		if err != nil {
			return err
		}
		if *w.Spec.Replicas != 3 || w.Generation != before.Generation+1 {
			return fmt.Errorf("answer = %+v, want 3 replicas and the next generation", w)
		}
		return nil
	}
	patched := func(kind types.PatchType, patch string) func(context.Context) error {
		return func(ctx context.Context) error {
			return scaled(websites.Patch(ctx, "kubia", kind, []byte(patch), metav1.PatchOptions{DryRun: dryRun}))
		}
	}
	reported := func(w *v1beta1.Website, err error) error {
		if err != nil {
			return err
		}
		if w.Status.ReadyReplicas != 9 {
			return fmt.Errorf("answer = %+v, want 9 ready replicas", w.Status)
		}
		return nil
	}
	tests := map[string]func(context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := websites.Create(ctx, framework.NewWebsite(namespace, "new", framework.Detailed),
				metav1.CreateOptions{DryRun: dryRun})
			return err
		},
		"update": func(ctx context.Context) error {
			changed := before.DeepCopy()
			changed.Spec.Replicas = ptr.To[int32](3)
			return scaled(websites.Update(ctx, changed, metav1.UpdateOptions{DryRun: dryRun}))
		},
		"JSON patch":      patched(types.JSONPatchType, `[{"op":"replace","path":"/spec/replicas","value":3}]`),
		"merge patch":     patched(types.MergePatchType, `{"spec":{"replicas":3}}`),
		"strategic patch": patched(types.StrategicMergePatchType, `{"spec":{"replicas":3}}`),
		"apply": func(ctx context.Context) error {
			wanted := applied.Website("kubia", namespace).WithSpec(applied.WebsiteSpec().WithReplicas(3))
			return scaled(websites.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "team", Force: true, DryRun: dryRun}))
		},
		"apply that creates": func(ctx context.Context) error {
			wanted := applied.Website("new", namespace).WithSpec(
				applied.WebsiteSpec().WithSource(
					applied.WebsiteSource().WithGit(applied.GitSource().WithRepository("https://example.com/site.git")),
				),
			)
			_, err := websites.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "team", DryRun: dryRun})
			return err
		},
		"update of the status": func(ctx context.Context) error {
			changed := before.DeepCopy()
			changed.Status.ReadyReplicas = 9
			return reported(websites.UpdateStatus(ctx, changed, metav1.UpdateOptions{DryRun: dryRun}))
		},
		"patch of the status": func(ctx context.Context) error {
			return reported(websites.Patch(ctx, "kubia", types.MergePatchType, []byte(`{"status":{"readyReplicas":9}}`),
				metav1.PatchOptions{DryRun: dryRun}, "status"))
		},
		"scale": func(ctx context.Context) error {
			scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: namespace},
				Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
			answer, err := websites.UpdateScale(ctx, "kubia", scale, metav1.UpdateOptions{DryRun: dryRun})
			if err == nil && answer.Spec.Replicas != 3 {
				err = fmt.Errorf("answer = %+v, want 3 replicas", answer)
			}
			return err
		},
		"delete": func(ctx context.Context) error {
			return websites.Delete(ctx, "kubia", metav1.DeleteOptions{DryRun: dryRun})
		},
		"delete collection": func(ctx context.Context) error {
			return websites.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{})
		},
		"kubectl apply": func(ctx context.Context) error {
			return checkOutput(ctx, "website.mycontroller.nevermosby.io/kubia configured (server dry run)",
				betaManifest("kubia", validSource, "replicas: 3"),
				"apply", "-n", namespace, "-f", "-", "--dry-run=server")
		},
		"kubectl scale": func(ctx context.Context) error {
			return checkOutput(ctx, "website.mycontroller.nevermosby.io/kubia scaled (server dry run)", "",
				"scale", "website/kubia", "-n", namespace, "--replicas=3", "--dry-run=server")
		},
		"kubectl delete": func(ctx context.Context) error {
			return checkOutput(ctx,
				`website.mycontroller.nevermosby.io "kubia" deleted from `+namespace+` namespace (server dry run)`,
				"", "delete", "website/kubia", "-n", namespace, "--dry-run=server")
		},
	}
	for name, write := range tests {
		t.Run(name, func(t *testing.T) {
			if err := write(t.Context()); err != nil {
				t.Fatal(err)
			}
			after, err := websites.Get(t.Context(), "kubia", metav1.GetOptions{})
			if err != nil || after.ResourceVersion != before.ResourceVersion {
				t.Errorf("the Website is now %+v (%v), want it unchanged", after, err)
			}
			if _, err := websites.Get(t.Context(), "new", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("getting the Website of a dry run: %v, want NotFound", err)
			}
		})
	}
	t.Run("mistakes are found", func(t *testing.T) {
		_, err := websites.Patch(t.Context(), "kubia", types.MergePatchType, []byte(`{"spec":{"replicas":-1}}`),
			metav1.PatchOptions{DryRun: dryRun})
		if !apierrors.IsInvalid(err) {
			t.Errorf("error = %v, want Invalid", err)
		}
	})
}

// checkOutput runs kubectl with an input and returns an error unless its output contains want.
func checkOutput(ctx context.Context, want, input string, args ...string) error {
	stdout, stderr, err := framework.Cluster.KubectlWith(ctx, framework.Stdin(input), args...)
	if err == nil && !strings.Contains(stdout, want) {
		err = fmt.Errorf("kubectl printed %q and %q, want %q", stdout, stderr, want)
	}
	return err
}
