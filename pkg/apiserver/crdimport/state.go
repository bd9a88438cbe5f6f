package crdimport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apiserver/registration"
)

// state is the state of an import.
type state struct {
	// definition is the CustomResourceDefinition, and apiService the APIService of
	// v1alpha1; nil if missing.
	definition *unstructured.Unstructured
	apiService *apiregistrationv1.APIService
	// policy is the UID of the policy that rejects writes; empty without one.
	policy types.UID
}

func (i *Importer) read(ctx context.Context) (s state, err error) {
	s.definition, err = i.dynamic.Resource(definitions).Get(ctx, DefinitionName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.definition, err = nil, nil
	}
	if err != nil {
		return s, fmt.Errorf("reading the CustomResourceDefinition %s: %w", DefinitionName, err)
	}
	s.apiService, err = i.apiServices.Get(ctx, apiServiceName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.apiService, err = nil, nil
	}
	if err != nil {
		return s, fmt.Errorf("reading APIService %s: %w", apiServiceName, err)
	}
	s.policy, err = i.policy(ctx)
	return s, err
}

// frozen reports whether writes are rejected.
func (s state) frozen() bool { return s.policy != "" }

// checkNotReverted returns an error if another command has gone back since a policy rejects writes. A command that
// "kubectl exec" has started continues when kubectl ends. A removed definition cannot be restored.
func (s state) checkNotReverted(policy types.UID, step string) error {
	switch {
	case s.removed():
		return nil
	case s.policy != policy, slices.Contains([]string{stepDetach, stepRemove}, step) && !s.handedOver():
		return errors.New("another command has gone back, or has begun again: this one changes nothing more")
	default:
		return nil
	}
}

// local reports whether the definition serves the API.
func (s state) local() bool { return s.apiService != nil && registration.IsAutoManaged(s.apiService) }

// handedOver reports whether the API was taken from the definition.
func (s state) handedOver() bool {
	return s.apiService != nil && !s.local() && s.apiService.Annotations[registration.AnnotationImport] != ""
}

// removed reports whether the definition is gone or is being removed, which cannot be reverted.
func (s state) removed() bool {
	return s.definition == nil || s.definition.GetDeletionTimestamp() != nil
}

// check returns an error if the import cannot begin or continue.
func (i *Importer) check(ctx context.Context, s state) error {
	switch {
	case s.definition == nil && !s.handedOver() && !s.frozen():
		return fmt.Errorf("there is no CustomResourceDefinition %s: nothing is to be imported", DefinitionName)
	case s.removed() || s.handedOver():
		return nil
	case !s.local():
		return fmt.Errorf("the CustomResourceDefinition %s does not serve %s: nothing can be imported from it",
			DefinitionName, v1alpha1.SchemeGroupVersion)
	}
	versions, _, err := unstructured.NestedSlice(s.definition.Object, "spec", "versions")
	if err != nil {
		return fmt.Errorf("reading the versions of the CustomResourceDefinition %s: %w", DefinitionName, err)
	}
	for _, version := range versions {
		if name, _, _ := unstructured.NestedString(version.(map[string]any),
			"name"); name != v1alpha1.SchemeGroupVersion.Version {
			return fmt.Errorf("the CustomResourceDefinition %s has the version %s: only those with %s alone can be imported",
				DefinitionName, name, v1alpha1.SchemeGroupVersion.Version)
		}
	}
	// An APIService applies to all resources of a version.
	served, err := i.kube.Discovery().ServerResourcesForGroupVersion(v1alpha1.SchemeGroupVersion.String())
	if err != nil {
		return fmt.Errorf("reading the resources of %s: %w", v1alpha1.SchemeGroupVersion, err)
	}
	for _, resource := range served.APIResources {
		if name, _, _ := strings.Cut(resource.Name, "/"); name != websites.Resource {
			return fmt.Errorf("%s has %s as well, which website-apiserver does not serve: move them to another group first",
				v1alpha1.SchemeGroupVersion, name)
		}
	}
	other := v1beta1.SchemeGroupVersion.Version + "." + website.GroupName
	if _, err := i.apiServices.Get(ctx, other, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		if err != nil {
			return fmt.Errorf("reading APIService %s: %w", other, err)
		}
		return fmt.Errorf("APIService %s exists, so two stores answer for the group %s: run \"website-apiserver "+
			"uninstall\" first, and restart website-apiserver afterwards", other, website.GroupName)
	}
	return nil
}
