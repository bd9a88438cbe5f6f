package crdimport

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kubesites/website-apiserver/pkg/apiserver/registration"
)

const (
	handOverPatch = `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":null},"annotations":{"` +
		registration.AnnotationImport + `":"InProgress"}}}`
	// handBackPatch makes kube-apiserver maintain the APIService again.
	handBackPatch = `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"},"annotations":{"` +
		registration.AnnotationImport + `":null}},"spec":{"service":null,"caBundle":null}}`
	completePatch = `{"metadata":{"annotations":{"` + registration.AnnotationImport + `":null}}}`
	// localReason is the reason of the condition Available of an APIService without a Service.
	localReason = "Local"
)

func (i *Importer) patchAPIService(ctx context.Context, patch string) error {
	if _, err := i.apiServices.Patch(ctx, apiServiceName, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: registration.FieldManager}); err != nil {
		return fmt.Errorf("changing APIService %s: %w", apiServiceName, err)
	}
	return nil
}

// handOver makes website-apiserver serve v1alpha1 in place of the definition.
func (i *Importer) handOver(ctx context.Context) error {
	s, err := i.read(ctx)
	if err != nil {
		return err
	}
	if !s.handedOver() {
		if err := i.patchAPIService(ctx, handOverPatch); err != nil {
			return err
		}
	}
	err = i.waitFor(ctx, "a website-apiserver with --service registers itself", func(ctx context.Context) error {
		return i.available(ctx, apiServiceName, false)
	})
	if err != nil {
		return err
	}
	return i.propagate(ctx)
}

// available returns nil if an APIService is available, and local as wanted.
func (i *Importer) available(ctx context.Context, name string, local bool) error {
	s, err := i.apiServices.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading APIService %s: %w", name, err)
	}
	if (s.Spec.Service == nil) != local {
		return fmt.Errorf("APIService %s leads to the service %v", name, s.Spec.Service)
	}
	for _, condition := range s.Status.Conditions {
		if condition.Type != apiregistrationv1.Available {
			continue
		}
		if condition.Status == apiregistrationv1.ConditionTrue && (condition.Reason == localReason) == local {
			return nil
		}
		return fmt.Errorf("the condition Available of APIService %s is %s: %s: %s", name, condition.Status, condition.Reason,
			condition.Message)
	}
	return errors.New("APIService " + name + " has no condition Available")
}
