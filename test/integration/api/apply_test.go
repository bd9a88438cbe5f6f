package api

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/generated/applyconfiguration/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

func TestServerSideApply(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)
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

// TestApplyDoesNotOwnWhatItCannotSet: fields that a strategy discards are not recorded as owned by
// the applier.
func TestApplyDoesNotOwnWhatItCannotSet(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)
	framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))

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
		WithStatus(v1alpha1.WebsiteStatus().WithAvailableReplicas(0)),
		metav1.ApplyOptions{FieldManager: "reporter", Force: true})
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
		WithStatus(v1alpha1.WebsiteStatus().WithAvailableReplicas(1)),
		metav1.ApplyOptions{FieldManager: "reporter", Force: true})
	if !apierrors.IsNotFound(err) {
		t.Errorf("applying the status of a Website that does not exist: %v, want NotFound", err)
	}
}

// TestOwnersAcrossVersions: a field has one owner, whichever version the owner has used.
func TestOwnersAcrossVersions(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	alpha, beta := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace), framework.Websites(t, namespace)
	team := v1alpha1.Website("kubia", namespace).WithSpec(v1alpha1.WebsiteSpec().
		WithDeploymentName("kubia-website").WithGitRepo("https://example.com/site.git"))
	if _, err := alpha.Apply(ctx, team, metav1.ApplyOptions{FieldManager: "team"}); err != nil {
		t.Fatal(err)
	}
	repository := func(repository string) *v1beta1.WebsiteApplyConfiguration {
		return v1beta1.Website("kubia", namespace).WithSpec(
			v1beta1.WebsiteSpec().WithSource(v1beta1.WebsiteSource().WithGit(v1beta1.GitSource().WithRepository(repository))),
		)
	}
	_, err := beta.Apply(ctx, repository("https://example.com/other.git"), metav1.ApplyOptions{FieldManager: "intruder"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "team": .spec.source.git.repository`) {
		t.Errorf("applying the repository in v1beta1: %v, want a conflict with team about .spec.source.git.repository", err)
	}
	if _, err := beta.Apply(ctx, repository("https://example.com/site.git"),
		metav1.ApplyOptions{FieldManager: "partner"}); err != nil {
		t.Errorf("applying the same repository in v1beta1: %v", err)
	}

	// A field that only v1beta1 has belongs to the manager that set it; a client of v1alpha1 neither
	// loses nor owns it.
	extra := v1beta1.Website("kubia", namespace).
		WithSpec(v1beta1.WebsiteSpec().WithPolling(v1beta1.WebsitePolling().WithPeriodSeconds(30)))
	if _, err := beta.Apply(ctx, extra, metav1.ApplyOptions{FieldManager: "operator"}); err != nil {
		t.Fatal(err)
	}
	if _, err := alpha.Apply(ctx, team.WithSpec(team.Spec.WithReplicas(2)),
		metav1.ApplyOptions{FieldManager: "team"}); err != nil {
		t.Fatal(err)
	}
	w, err := beta.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if w.Spec.Polling.PeriodSeconds != 30 || *w.Spec.Replicas != 2 {
		t.Errorf("spec = %+v, want the operator's period and the team's replicas", w.Spec)
	}
	for _, entry := range w.ManagedFields {
		if fields := entry.FieldsV1.GetRawString(); entry.Manager == "team" && strings.Contains(fields, "annotations") {
			t.Errorf("team owns %s, want no owned part of the annotation with v1beta1's fields", fields)
		}
	}
	// Once the operator gives the field up, it has its default, although the Website has other fields
	// that v1alpha1 lacks: the status, and this path.
	path := v1beta1.Website("kubia", namespace).
		WithSpec(v1beta1.WebsiteSpec().WithSource(v1beta1.WebsiteSource().WithPath("public")))
	if _, err := beta.Apply(ctx, path, metav1.ApplyOptions{FieldManager: "partner"}); err != nil {
		t.Fatal(err)
	}
	if _, err := beta.Apply(ctx, v1beta1.Website("kubia", namespace),
		metav1.ApplyOptions{FieldManager: "operator"}); err != nil {
		t.Fatal(err)
	}
	if w, err := beta.Get(ctx, "kubia", metav1.GetOptions{}); err != nil || w.Spec.Polling.PeriodSeconds != 60 ||
		w.Spec.Source.Path != "public" {
		t.Errorf("spec = %+v (%v), want the default period and the partner's path", w.Spec, err)
	}
}

// TestApplyOfHeadersIsByPathAndName: two managers own different headers of one list.
func TestApplyOfHeadersIsByPathAndName(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Websites(t, namespace)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	header := func(name, value string) *v1beta1.WebsiteApplyConfiguration {
		return v1beta1.Website("kubia", namespace).WithSpec(v1beta1.WebsiteSpec().WithServing(v1beta1.WebsiteServing().
			WithHeaders(v1beta1.ResponseHeader().WithPath("/").WithName(name).WithValue(value))))
	}
	for manager, wanted := range map[string]*v1beta1.WebsiteApplyConfiguration{"one": header("X-A", "1"),
		"two": header("X-B", "2")} {
		if _, err := websites.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := websites.Apply(ctx, header("X-A", "3"),
		metav1.ApplyOptions{FieldManager: "two"}); !apierrors.IsConflict(err) {
		t.Errorf("applying the other's header: %v, want Conflict", err)
	}
	w, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil || len(w.Spec.Serving.Headers) != 2 {
		t.Errorf("headers = %+v (%v), want both", w.Spec.Serving.Headers, err)
	}
}

// TestApplyOfServiceAnnotationsIsByKey: two managers own different annotations of one Service.
func TestApplyOfServiceAnnotationsIsByKey(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	server := framework.NewServer(t, "--allowed-service-annotations=example.com/*")
	websites := framework.NewClients(t, server.Config(t)).Websites.WebsiteV1beta1().Websites(namespace)
	if _, err := websites.Create(ctx, framework.NewWebsite(namespace, "kubia", framework.Detailed),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	annotation := func(key, value string) *v1beta1.WebsiteApplyConfiguration {
		return v1beta1.Website("kubia", namespace).WithSpec(v1beta1.WebsiteSpec().WithService(v1beta1.WebsiteService().
			WithAnnotations(map[string]string{"example.com/" + key: value})))
	}
	for manager, wanted := range map[string]*v1beta1.WebsiteApplyConfiguration{"one": annotation("a", "1"),
		"two": annotation("b", "2")} {
		if _, err := websites.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := websites.Apply(ctx, annotation("a", "3"),
		metav1.ApplyOptions{FieldManager: "two"}); !apierrors.IsConflict(err) {
		t.Errorf("applying the other's annotation: %v, want Conflict", err)
	}
	w, err := websites.Get(ctx, "kubia", metav1.GetOptions{})
	if err != nil || len(w.Spec.Service.Annotations) != 2 {
		t.Errorf("annotations = %v (%v), want both", w.Spec.Service.Annotations, err)
	}
}
