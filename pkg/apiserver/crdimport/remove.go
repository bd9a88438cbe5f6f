package crdimport

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// deprecation returns a warning for the definition. Setting it makes kube-apiserver end all watches of its
// storage, and has no other effect. It names the policy of the import: a command that was overtaken by "import
// back" may write its own deprecation late, and watches begin again after that.
func deprecation(policy types.UID) string {
	return fmt.Sprintf("Websites are being moved to website-apiserver (%s)", policy)
}

// isDetached reports whether the watches were ended during the import with this policy.
func isDetached(definition *unstructured.Unstructured, policy types.UID) bool {
	return deprecationOf(definition) == deprecation(policy)
}

// deprecationOf returns the warning of a definition, which has one version.
func deprecationOf(definition *unstructured.Unstructured) (warning string) {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		warning, _, _ = unstructured.NestedString(version.(map[string]any), "deprecationWarning")
	}
	return warning
}

// setDeprecated sets a warning in all versions of the definition, or removes it.
func (i *Importer) setDeprecated(ctx context.Context, warning string) error {
	client := i.dynamic.Resource(definitions)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		definition, err := client.Get(ctx, DefinitionName, metav1.GetOptions{})
		if err != nil || deprecationOf(definition) == warning {
			return err
		}
		versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
		if err != nil {
			return err
		}
		for _, version := range versions {
			fields := version.(map[string]any)
			delete(fields, "deprecated")
			delete(fields, "deprecationWarning")
			if warning != "" {
				fields["deprecated"], fields["deprecationWarning"] = true, warning
			}
		}
		if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
			return err
		}
		_, err = client.Update(ctx, definition, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing the CustomResourceDefinition %s: %w", DefinitionName, err)
	}
	return nil
}

// detach ends the watches of the definition's storage. Clients that watch again
// reach website-apiserver.
func (i *Importer) detach(ctx context.Context) error {
	if err := i.setDeprecated(ctx, deprecation(i.frozenBy)); err != nil {
		return err
	}
	return i.propagate(ctx)
}

// remove removes the definition, and with it the copied objects.
func (i *Importer) remove(ctx context.Context) error {
	client := i.dynamic.Resource(definitions)
	s, err := i.read(ctx)
	if err != nil || s.definition == nil {
		return err
	}
	if !s.removed() {
		// Another command that goes back changes the definition.
		if err := s.checkNotReverted(i.frozenBy, stepRemove); err != nil {
			return err
		}
		if !isDetached(s.definition, i.frozenBy) {
			return fmt.Errorf("the CustomResourceDefinition %s was changed by another client since the step %s, so it may "+
				"be watched",
				DefinitionName, stepDetach)
		}
		err := client.Delete(
			ctx, DefinitionName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(s.definition.GetUID()),
				ResourceVersion: ptr.To(s.definition.GetResourceVersion())}},
		)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting the CustomResourceDefinition %s: %w", DefinitionName, err)
		}
	}
	return i.waitFor(ctx, "the CustomResourceDefinition is gone", func(ctx context.Context) error {
		_, err := client.Get(ctx, DefinitionName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("%s is there", DefinitionName)
		}
		return err
	})
}

// finish registers the other version, and permits writes.
func (i *Importer) finish(ctx context.Context) error {
	if err := i.patchAPIService(ctx, completePatch); err != nil {
		return err
	}
	name := v1beta1.SchemeGroupVersion.Version + "." + website.GroupName
	if err := i.waitFor(ctx, "the API is registered",
		func(ctx context.Context) error { return i.available(ctx, name, false) }); err != nil {
		return err
	}
	if err := i.config.Websites.EndCopy(ctx); err != nil {
		return err
	}
	return i.unfreeze(ctx)
}
