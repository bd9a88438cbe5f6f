package website

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// ValidateDeclaratively adds the errors of the declared rules to validationErrs
// and returns all of them with the field paths of the requested version. It always
// applies the rules of v1beta1, which has all fields: conversion has unpacked
// v1alpha1's annotation before.
func (s Strategy) ValidateDeclaratively(ctx context.Context, obj, oldObj runtime.Object, validationErrs field.ErrorList,
	opType operation.Type, config rest.DeclarativeValidationConfig) field.ErrorList {
	info := genericapirequest.RequestInfo{}
	if given, ok := genericapirequest.RequestInfoFrom(ctx); ok {
		info = *given
	}
	info.APIGroup, info.APIVersion = v1beta1.GroupName, v1beta1.SchemeGroupVersion.Version
	// The rules cover the part of the Website that the subresource changes.
	switch info.Subresource {
	case "sync":
		info.Subresource = "status"
	case rollbackSubresource:
		info.Subresource = ""
	}
	validationErrs = firstErrors(validationErrs)
	for _, err := range validationErrs {
		// Kubernetes' own types have some rules twice while they migrate, and shared
		// validation marks such errors. Here every rule is in one place only.
		err.CoveredByDeclarative = false
	}
	declared := genericapirequest.WithRequestInfo(ctx, &info)
	errs := s.DeclarativeValidation.ValidateDeclaratively(declared, obj, oldObj, validationErrs, opType, config)
	return errorsForVersion(requestVersion(ctx), firstErrors(errs))
}

// maxErrors is the highest number of errors in a response.
const maxErrors = 100

// firstErrors limits the number of errors. The library compares each error with all others, which for a long
// list of invalid items would take hours.
func firstErrors(errs field.ErrorList) field.ErrorList {
	if len(errs) <= maxErrors {
		return errs
	}
	more := *errs[maxErrors-1]
	more.Detail = fmt.Sprintf("%s (and %d more errors)", more.Detail, len(errs)-maxErrors)
	return append(slices.Clone(errs[:maxErrors-1]), &more)
}

// requestVersion returns the API version of the request, empty without a request, as
// in tests.
func requestVersion(ctx context.Context) string {
	if info, ok := genericapirequest.RequestInfoFrom(ctx); ok {
		return info.APIVersion
	}
	return ""
}

// errorsForVersion translates the field paths of errs to version.
func errorsForVersion(version string, errs field.ErrorList) field.ErrorList {
	renamed := make(field.ErrorList, 0, len(errs))
	for _, err := range errs {
		inVersion := *err
		inVersion.Field = fieldInVersion(version, err.Field)
		renamed = append(renamed, &inVersion)
	}
	return renamed
}

// repositoryPath is the field with another path in v1alpha1.
const repositoryPath = "spec.source.git.repository"

// fieldsOfV1alpha1 maps the fields of the internal version that v1alpha1 has to their paths there.
var fieldsOfV1alpha1 = map[string]string{
	repositoryPath:             "spec.gitRepo",
	"spec.deploymentName":      "spec.deploymentName",
	"spec.replicas":            "spec.replicas",
	"status.availableReplicas": "status.availableReplicas",
}

// fieldInVersion returns the path of an internal field in a version. A field that
// v1alpha1 lacks can only come from its annotation.
func fieldInVersion(version, path string) string {
	if version != v1alpha1.SchemeGroupVersion.Version {
		return path
	}
	if named, found := fieldsOfV1alpha1[path]; found {
		return named
	}
	if strings.HasPrefix(path, "spec.") || strings.HasPrefix(path, "status.") {
		return fmt.Sprintf("metadata.annotations[%s].%s", website.AnnotationCarriedFields, path)
	}
	return path
}
