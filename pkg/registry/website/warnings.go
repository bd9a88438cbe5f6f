package website

import (
	"context"
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// WarningsOnCreate returns warnings of valid but unwise values.
func (Strategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	return warnings(requestVersion(ctx), &obj.(*website.Website).Spec)
}

// WarningsOnUpdate is like WarningsOnCreate, but returns none if the spec is
// unchanged.
func (Strategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	updated, previous := obj.(*website.Website), old.(*website.Website)
	if apiequality.Semantic.DeepEqual(updated.Spec, previous.Spec) {
		return nil
	}
	return append(annotationWarnings(ctx, &updated.Spec, &previous.Spec), warnings(requestVersion(ctx), &updated.Spec)...)
}

func warnings(version string, spec *website.WebsiteSpec) []string {
	repository := "spec.source.repository"
	if version == v1alpha1.SchemeGroupVersion.Version {
		repository = fieldInV1alpha1(repository)
	}
	var warnings []string
	if strings.HasPrefix(spec.Source.Repository, "http://") {
		warnings = append(warnings, fmt.Sprintf("%s: http:// is not encrypted, so the site can be altered on its way; use https:// or ssh://", repository))
	}
	// A suspended site without pods is offline on purpose.
	if ptr.Deref(spec.Replicas, 1) == 0 && !spec.Suspend {
		warnings = append(warnings, "spec.replicas: 0 takes the site offline")
	}
	return warnings
}
