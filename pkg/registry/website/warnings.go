package website

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// WarningsOnCreate returns warnings of valid but unwise values.
func (Strategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	w := obj.(*website.Website)
	return append(finalizerWarnings(w.Finalizers, nil), warnings(requestVersion(ctx), &w.Spec)...)
}

// WarningsOnUpdate is like WarningsOnCreate, but returns none for unchanged finalizers and an unchanged spec.
func (Strategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	updated, previous := obj.(*website.Website), old.(*website.Website)
	found := finalizerWarnings(updated.Finalizers, previous.Finalizers)
	if apiequality.Semantic.DeepEqual(updated.Spec, previous.Spec) {
		return found
	}
	found = append(found, annotationWarnings(ctx, &updated.Spec, &previous.Spec)...)
	return append(found, warnings(requestVersion(ctx), &updated.Spec)...)
}

// finalizerWarnings warns about new finalizers without a domain, as kube-apiserver does for custom resources.
func finalizerWarnings(finalizers, former []string) []string {
	standard := []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents,
		string(corev1.FinalizerKubernetes)}
	var found []string
	for _, finalizer := range finalizers {
		if !strings.Contains(finalizer, "/") && !slices.Contains(standard, finalizer) && !slices.Contains(former, finalizer) {
			found = append(found, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name, such as "+
				"example.com/%s, "+
				"to avoid accidental conflicts with other finalizer writers", finalizer, finalizer))
		}
	}
	return found
}

func warnings(version string, spec *v1beta1.WebsiteSpec) []string {
	repository := fieldInVersion(version, repositoryPath)
	var warnings []string
	if strings.HasPrefix(gitOf(spec).Repository, "http://") {
		warnings = append(
			warnings, fmt.Sprintf("%s: http:// is not encrypted, so the site can be altered on its way; use https:// or ssh://",
				repository),
		)
	}
	// A suspended site without pods is offline on purpose.
	if ptr.Deref(spec.Replicas, 1) == 0 && !isSuspended(spec) {
		warnings = append(warnings, "spec.replicas: 0 takes the site offline")
	}
	return warnings
}
