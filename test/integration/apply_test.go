package integration

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1alpha1"
)

func TestServerSideApply(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), newNamespace(t)
	websites := admin(t).websites.WebsiteV1alpha1().Websites(namespace)
	wanted := func() *v1alpha1.WebsiteApplyConfiguration {
		return v1alpha1.Website("kubia", namespace).WithSpec(v1alpha1.WebsiteSpec().
			WithDeploymentName("kubia-website").WithGitRepo("https://example.com/site.git").WithReplicas(2))
	}

	created, err := websites.Apply(ctx, wanted(), metav1.ApplyOptions{FieldManager: "team"})
	if err != nil {
		t.Fatalf("creating by apply: %v", err)
	}
	again, err := websites.Apply(ctx, wanted(), metav1.ApplyOptions{FieldManager: "team"})
	if err != nil {
		t.Fatal(err)
	}
	if again.Generation != created.Generation {
		t.Errorf("applying the same again raised the generation from %d to %d", created.Generation, again.Generation)
	}

	other := v1alpha1.Website("kubia", namespace).WithSpec(v1alpha1.WebsiteSpec().WithReplicas(5))
	_, err = websites.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "intruder"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "team": .spec.replicas`) {
		t.Fatalf("applying another's field: %v, want a conflict with team about .spec.replicas", err)
	}
	forced, err := websites.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "intruder", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if *forced.Spec.Replicas != 5 || forced.Spec.GitRepo != "https://example.com/site.git" {
		t.Errorf("spec after a forced apply = %+v, want 5 replicas and the rest untouched", forced.Spec)
	}
	extracted, err := v1alpha1.ExtractWebsite(forced, "intruder")
	if err != nil {
		t.Fatal(err)
	}
	if extracted.Spec == nil || extracted.Spec.Replicas == nil || extracted.Spec.GitRepo != nil {
		t.Errorf("fields of the intruder = %+v, want replicas alone", extracted.Spec)
	}
}

// TestApplyDoesNotOwnWhatItCannotSet: fields that a strategy discards must not
// be recorded as the applier's.
func TestApplyDoesNotOwnWhatItCannotSet(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), newNamespace(t)
	websites := admin(t).websites.WebsiteV1alpha1().Websites(namespace)
	mustCreate(t, newWebsite(namespace, "kubia"))

	applied, err := websites.Apply(ctx, v1alpha1.Website("kubia", namespace).
		WithAnnotations(map[string]string{"note": "x"}).
		WithStatus(v1alpha1.WebsiteStatus().WithAvailableReplicas(9)), metav1.ApplyOptions{FieldManager: "team", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if applied.Status.AvailableReplicas == 9 {
		t.Error("an apply to the main resource has set the status")
	}
	reported, err := websites.ApplyStatus(ctx, v1alpha1.Website("kubia", namespace).
		WithSpec(v1alpha1.WebsiteSpec().WithReplicas(9)).
		WithStatus(v1alpha1.WebsiteStatus().WithAvailableReplicas(0)), metav1.ApplyOptions{FieldManager: "reporter", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if *reported.Spec.Replicas == 9 {
		t.Error("an apply to the status has set the spec")
	}
	for _, entry := range reported.ManagedFields {
		fields := entry.FieldsV1.GetRawString()
		switch entry.Manager {
		case "team":
			if strings.Contains(fields, "f:status") || !strings.Contains(fields, "f:note") {
				t.Errorf("team owns %s, want its annotation and nothing of the status", fields)
			}
		case "reporter":
			if strings.Contains(fields, "f:spec") || entry.Subresource != "status" {
				t.Errorf("reporter owns %s of %q, want nothing of the spec", fields, entry.Subresource)
			}
		}
	}

	_, err = websites.ApplyStatus(ctx, v1alpha1.Website("missing", namespace).
		WithStatus(v1alpha1.WebsiteStatus().WithAvailableReplicas(1)), metav1.ApplyOptions{FieldManager: "reporter", Force: true})
	if !apierrors.IsNotFound(err) {
		t.Errorf("applying the status of a Website that does not exist: %v, want NotFound", err)
	}
}
